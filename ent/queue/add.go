package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

// Draft is a delivery to add.
type Draft struct {
	// ID is made by package id of the transaction's time.
	ID uuid.UUID `json:"id"`
	// StoreID is the store that the webhook and the event belong to.
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	EventID   uuid.UUID `json:"event_id"`
	EventType string    `json:"event_type"`
	// Epoch is that of the webhook.
	Epoch int64 `json:"epoch"`
}

// Add puts deliveries into the queue, due now and with no attempt made, in one statement. The
// caller has locked their webhooks and found them enabled, and wakes the workers after the commit
// (db.DB.Announce).
func Add(ctx context.Context, tx *ent.Tx, s *db.DB, deliveries []Draft) error {
	rows := make([]newRow, len(deliveries))
	for i, d := range deliveries {
		rows[i].Draft = d
	}
	return wrap("add deliveries", insert(ctx, tx, s, rows, hook.Time(ctx), 0))
}

// newRow is a delivery to insert.
type newRow struct {
	Draft
	// Lease is nil for a delivery that waits.
	Lease *uuid.UUID `json:"lease"`
}

// insert adds the rows in one statement.
func insert(ctx context.Context, on execer, s *db.DB, rows []newRow, now time.Time, lease time.Duration) error {
	if len(rows) == 0 {
		return nil
	}
	set, err := rowset(rows)
	if err != nil {
		return err
	}
	_, err = dialectOf(s).exec(ctx, on, "insert", s.Moment(), lease.Milliseconds(), now, set)
	return err
}
