package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"entgo.io/ent/dialect"
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
}

const (
	addPostgres = `INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, created_at, epoch)
 SELECT id, store_id, webhook_id, event_id, event_type,
  GREATEST(COALESCE($1::timestamptz, now()), (SELECT w.epoch_since FROM webhooks w WHERE w.id = d.webhook_id)), $2, $3,
  COALESCE((SELECT w.epoch FROM webhooks w WHERE w.id = d.webhook_id), 0)
 FROM jsonb_to_recordset($4::jsonb) AS d (id uuid, store_id uuid, webhook_id uuid, event_id uuid, event_type text)`

	addSQLite = `INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, due_at, attempts, created_at, epoch)
 SELECT value ->> 'id', value ->> 'store_id', value ->> 'webhook_id', value ->> 'event_id', value ->> 'event_type',
  max($1, COALESCE((SELECT w.epoch_since FROM webhooks w WHERE w.id = value ->> 'webhook_id'), 0)), $2, $3,
  COALESCE((SELECT w.epoch FROM webhooks w WHERE w.id = value ->> 'webhook_id'), 0)
 FROM json_each($4)`
)

// Add puts deliveries into the queue, due now and with no attempt made, in one statement. The
// caller makes sure that their webhooks are there and enabled, and that nobody disables them
// before the commit; and announces them to the workers after it (store.Announce).
func Add(ctx context.Context, tx *ent.Tx, s *db.DB, deliveries []Draft) error {
	if len(deliveries) == 0 {
		return nil
	}
	set, err := json.Marshal(deliveries)
	if err != nil {
		return fmt.Errorf("add deliveries: %w", err)
	}
	statement := addPostgres
	if s.Dialect() == dialect.SQLite {
		statement = addSQLite
	}
	if _, err := tx.ExecContext(ctx, statement, s.Moment(), []byte(noAttempts), hook.Time(ctx), string(set)); err != nil {
		return fmt.Errorf("add deliveries: %w", err)
	}
	return nil
}
