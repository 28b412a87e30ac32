package dbtest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/outboxentry"
	"go.storefront.example/gen/ent/webhook"
)

// Count counts the rows of a table. from may add a condition, as in "outbox WHERE store_id = $1".
func Count(t require.TestingT, s *db.DB, from string, args ...any) int {
	var n int
	require.NoError(t, s.Reader().QueryRowContext(context.Background(), "SELECT count(*) FROM "+from, args...).Scan(&n))
	return n
}

// Queued counts a store's events in the outbox to which a webhook subscribes. On Citus the outbox has the other events, too.
func Queued(t require.TestingT, s *db.DB, store uuid.UUID) (n int) {
	subscribed, err := s.Client().Webhook.Query().Where(webhook.StoreID(store), webhook.Enabled(true)).All(context.Background())
	require.NoError(t, err)
	entries, err := s.Client().OutboxEntry.Query().Where(outboxentry.StoreID(store)).All(context.Background())
	require.NoError(t, err)
	for _, e := range entries {
		if slices.ContainsFunc(subscribed, func(w *ent.Webhook) bool { return slices.Contains(w.Events, e.Type) }) {
			n++
		}
	}
	return n
}

// Delivery is a row of the table deliveries, for which ent has no type.
type Delivery struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType                       string
	Retry                           bool
	DueAt                           time.Time
	Lease                           *uuid.UUID
	Attempts                        []byte
	CreatedAt                       time.Time
}

// Deliveries lists the deliveries that meet a condition such as "id = $1"; "true" lists all.
func Deliveries(t require.TestingT, s *db.DB, where string, args ...any) []Delivery {
	var all []Delivery
	for row := range db.Rows(context.Background(), s.Reader(), "SELECT id, store_id, webhook_id, event_id, event_type, retry,"+
		" due_at, lease, attempts, created_at FROM deliveries WHERE "+where, args...) {
		var d Delivery
		require.NoError(t, row.Scan(&d.ID, &d.StoreID, &d.WebhookID, &d.EventID, &d.EventType, &d.Retry,
			&d.DueAt, &d.Lease, &d.Attempts, &d.CreatedAt))
		all = append(all, d)
	}
	return all
}

// FinishedDelivery is a row of the table of finished deliveries, for which ent has no type.
type FinishedDelivery struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType, Status               string
	Attempts                        []byte
	CreatedAt, FinishedAt           time.Time
}

// FinishedDeliveries lists the finished deliveries that meet a condition; "true" lists all.
func FinishedDeliveries(t require.TestingT, s *db.DB, where string, args ...any) []FinishedDelivery {
	var all []FinishedDelivery
	for row := range db.Rows(context.Background(), s.Reader(), "SELECT id, store_id, webhook_id, event_id, event_type, status,"+
		" attempts, created_at, finished_at FROM finished_deliveries WHERE "+where, args...) {
		var d FinishedDelivery
		require.NoError(t, row.Scan(&d.ID, &d.StoreID, &d.WebhookID, &d.EventID, &d.EventType, &d.Status,
			&d.Attempts, &d.CreatedAt, &d.FinishedAt))
		all = append(all, d)
	}
	return all
}
