package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// CreateWebhook registers a webhook of a store; its secret is in the answer this once. It refuses
// with store_not_found and as shop.CreateWebhook does.
func (o *Operator) CreateWebhook(ctx context.Context, storeName string, d service.WebhookDraft) (service.Webhook, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return service.Webhook{}, err
	}
	return o.shop.CreateWebhook(ctx, d)
}

// ListWebhooks returns the newest webhooks of a store, at most limit. It refuses with
// store_not_found.
func (o *Operator) ListWebhooks(ctx context.Context, storeName string, limit int) ([]service.Webhook, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListWebhooks(ctx, limit)
}

// UpdateWebhook changes the named fields of a webhook. It refuses as shop.UpdateWebhook does.
func (o *Operator) UpdateWebhook(ctx context.Context, id string, c service.WebhookChange) (service.Webhook, error) {
	return inWebhook(ctx, o, id, func(ctx context.Context) (service.Webhook, error) { return o.shop.UpdateWebhook(ctx, id, c) })
}

// EnableWebhook makes a webhook receive events again. It refuses with webhook_not_found.
func (o *Operator) EnableWebhook(ctx context.Context, id string) (service.Webhook, error) {
	return inWebhook(ctx, o, id, func(ctx context.Context) (service.Webhook, error) { return o.shop.EnableWebhook(ctx, id) })
}

// DisableWebhook makes a webhook receive nothing until it is enabled again. It refuses with
// webhook_not_found.
func (o *Operator) DisableWebhook(ctx context.Context, id string) (service.Webhook, error) {
	return inWebhook(ctx, o, id, func(ctx context.Context) (service.Webhook, error) { return o.shop.DisableWebhook(ctx, id) })
}

// DeleteWebhook deletes a webhook for good and returns what it was. It refuses with
// webhook_not_found.
func (o *Operator) DeleteWebhook(ctx context.Context, id string) (service.Webhook, error) {
	return inWebhook(ctx, o, id, func(ctx context.Context) (service.Webhook, error) { return o.shop.DeleteWebhook(ctx, id) })
}

// RotateSecret gives a webhook a new signing secret, which is in the answer this once. It refuses
// with webhook_not_found or secret_key_missing.
func (o *Operator) RotateSecret(ctx context.Context, id string) (service.Webhook, error) {
	return inWebhook(ctx, o, id, func(ctx context.Context) (service.Webhook, error) { return o.shop.RotateSecret(ctx, id) })
}

// PingWebhook sends a ping to a webhook and returns its delivery. It refuses with
// webhook_not_found or webhook_disabled.
func (o *Operator) PingWebhook(ctx context.Context, id string) (queue.Entry, error) {
	return inWebhook(ctx, o, id, func(ctx context.Context) (queue.Entry, error) { return o.shop.PingWebhook(ctx, id) })
}

// inWebhook does something in the store that owns the webhook.
func inWebhook[T any](ctx context.Context, o *Operator, id string, do func(ctx context.Context) (T, error)) (T, error) {
	ctx, err := o.inOwner(ctx, id, apierr.WebhookNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Webhook.Query().Where(webhook.ID(id)).QueryStore()
	})
	if err != nil {
		var none T
		return none, err
	}
	return do(ctx)
}
