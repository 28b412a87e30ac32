package webhooks

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
)

const pingMessage = "This is a test event."

// PingWebhook creates a ping event and its delivery to a webhook, and returns the delivery. A worker makes one attempt, signed
// as for every event.
func (w *Webhooks) PingWebhook(ctx context.Context, webhookID string) (queue.Entry, error) {
	return w.deliver(ctx, webhookID, func(c *hook.Change, row *ent.Webhook) (uuid.UUID, string, error) {
		c.Record("webhook.pinged", "webhook", row.ID)
		ping, err := createPing(c)
		if err != nil {
			return uuid.Nil, "", err
		}
		return ping.ID, hook.Ping, nil
	})
}

// CreatePing creates a ping event of the store without a delivery, for programs that read the store's events, such as
// storefront listen.
func (w *Webhooks) CreatePing(ctx context.Context) (*ent.Event, error) {
	return hook.Answer(ctx, w.db, func(c *hook.Change) (*ent.Event, error) {
		c.Record("store.pinged", "store", c.Store.ID)
		return createPing(c)
	})
}

func createPing(c *hook.Change) (*ent.Event, error) {
	now := c.Time()
	eventID := id.At(now)
	row, err := c.Tx.Event.Create().SetID(eventID).SetStoreID(c.Store.ID).SetType(hook.Ping).
		SetPayload(hook.PingEnvelope(eventID, now, c.Store.ID, c.Store.Slug, pingMessage)).SetCreatedAt(now).Save(c)
	if err != nil {
		return nil, fmt.Errorf("create event: %w", err)
	}
	return row, nil
}
