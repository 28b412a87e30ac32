package dbtest

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
)

// Count counts the rows of a table. from may add a condition, as in "deliveries WHERE store_id = $1".
func Count(t require.TestingT, d *db.DB, from string, args ...any) int {
	var n int
	require.NoError(t, d.Reader().QueryRowContext(context.Background(), "SELECT count(*) FROM "+from, args...).Scan(&n))
	return n
}

// Queued counts a store's waiting deliveries, also those in the outbox on Citus.
func Queued(t require.TestingT, d *db.DB, store uuid.UUID) int {
	n := Count(t, d, "deliveries WHERE store_id = $1", store)
	if IsCitus(d) {
		n += Count(t, d, "outbox WHERE store_id = $1", store)
	}
	return n
}

// Delivery is a row of deliveries, for which ent has no type.
type Delivery struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType                       string
	Retry                           bool
	DueAt                           time.Time
	Lease                           *uuid.UUID
	LeasedUntil                     *time.Time
	Attempts                        []byte
	CreatedAt                       time.Time
}

// Deliveries returns the rows that meet a condition such as "id = $1" or "true".
func Deliveries(t require.TestingT, d *db.DB, where string, args ...any) []Delivery {
	var all []Delivery
	for row := range db.Rows(context.Background(), d.Reader(), "SELECT id, store_id, webhook_id, event_id, event_type, retry,"+
		" due_at, lease, leased_until, attempts, created_at FROM deliveries WHERE "+where, args...) {
		var delivery Delivery
		require.NoError(t, row.Scan(&delivery.ID, &delivery.StoreID, &delivery.WebhookID, &delivery.EventID, &delivery.EventType, &delivery.Retry,
			&delivery.DueAt, &delivery.Lease, &delivery.LeasedUntil, &delivery.Attempts, &delivery.CreatedAt))
		all = append(all, delivery)
	}
	return all
}

// FinishedDelivery is a row of finished_deliveries, for which ent has no type.
type FinishedDelivery struct {
	ID, StoreID, WebhookID, EventID uuid.UUID
	EventType, Status               string
	Attempts                        []byte
	CreatedAt, FinishedAt           time.Time
}

// FinishedDeliveries returns the rows that meet a condition such as "true".
func FinishedDeliveries(t require.TestingT, d *db.DB, where string, args ...any) []FinishedDelivery {
	var all []FinishedDelivery
	for row := range db.Rows(context.Background(), d.Reader(), "SELECT id, store_id, webhook_id, event_id, event_type, status,"+
		" attempts, created_at, finished_at FROM finished_deliveries WHERE "+where, args...) {
		var delivery FinishedDelivery
		require.NoError(t, row.Scan(&delivery.ID, &delivery.StoreID, &delivery.WebhookID, &delivery.EventID, &delivery.EventType, &delivery.Status,
			&delivery.Attempts, &delivery.CreatedAt, &delivery.FinishedAt))
		all = append(all, delivery)
	}
	return all
}
