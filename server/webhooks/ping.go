package webhooks

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

const pingMessage = "This is a test event."

// PingWebhook creates a ping event and its delivery to a webhook, and returns the delivery. A worker makes one attempt,
// signed as for every event. It refuses with webhook_not_found or webhook_disabled.
func (w *Webhooks) PingWebhook(ctx context.Context, webhookID string) (queue.Entry, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return queue.Entry{}, err
	}
	return w.deliver(ctx, webhookID, func(ctx context.Context, tx *ent.Tx, row *ent.Webhook) (uuid.UUID, string, error) {
		hook.Record(ctx, "webhook.pinged", "webhook", row.ID)
		ping, err := createPing(ctx, tx, t)
		if err != nil {
			return uuid.Nil, "", err
		}
		return ping.ID, hook.Ping, nil
	})
}

// CreatePing creates a ping event of the store without a delivery, for programs that read the store's events, such as
// storefront listen.
func (w *Webhooks) CreatePing(ctx context.Context) (row *ent.Event, err error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	err = hook.WithTx(ctx, w.db, func(ctx context.Context, tx *ent.Tx) error {
		hook.Record(ctx, "store.pinged", "store", t.ID)
		row, err = createPing(ctx, tx, t)
		return err
	})
	return row, err
}

func createPing(ctx context.Context, tx *ent.Tx, t tenant.Store) (*ent.Event, error) {
	now := hook.Time(ctx)
	eventID := id.At(now)
	row, err := tx.Event.Create().SetID(eventID).SetStoreID(t.ID).SetType(hook.Ping).
		SetPayload(hook.PingEnvelope(eventID, now, t.ID, t.Slug, pingMessage)).SetCreatedAt(now).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("create event: %w", err)
	}
	return row, nil
}
