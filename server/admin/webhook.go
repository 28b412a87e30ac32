package admin

import (
	"context"
	"fmt"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/webhooks"
)

func (o *Operator) webhook(row *ent.Webhook) *adminv1.Webhook {
	w := &adminv1.Webhook{
		Id: row.ID.String(), Url: row.URL, Description: row.Description, Events: row.Events, State: adminv1.Webhook_enabled,
		CreatedAt: apijson.Timestamp(row.CreatedAt), UpdatedAt: apijson.Timestamp(row.UpdatedAt),
	}
	switch {
	case !row.Enabled:
		w.State, w.DisabledAt, w.DisabledAutomatically = adminv1.Webhook_disabled, apijson.OptionalTimestamp(row.DisabledAt),
			row.DisabledAutomatically
	case row.FailingSince != nil:
		w.State, w.FailingSince = adminv1.Webhook_failing, apijson.Timestamp(*row.FailingSince)
		w.DisablesAt = apijson.Timestamp(row.FailingSince.Add(o.webhooks.DisableAfter()))
	}
	return w
}

// CreateWebhook creates a webhook of a store. Only its answer has the secret.
func (o *Operator) CreateWebhook(ctx context.Context, in *adminv1.CreateWebhookRequest) (*adminv1.CreateWebhookResponse, error) {
	ctx, err := o.WithStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	created, err := o.webhooks.CreateWebhook(tenant.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), webhooks.Registration{
		URL: in.GetUrl(), Description: in.GetDescription(), Events: in.GetEvents(),
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateWebhookResponse{Webhook: o.webhook(created.Webhook), Secret: created.Secret}, nil
}

// ListWebhooks returns a page of a store's webhooks.
func (o *Operator) ListWebhooks(ctx context.Context, in *adminv1.ListWebhooksRequest) (*adminv1.ListWebhooksResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	ctx, t, err := o.check(ctx, &refused, in.GetStore())
	if err != nil {
		return nil, err
	}
	rows, err := o.db.Client().Webhook.Query().Where(webhook.StoreID(t.ID), p.rows).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	found, next := pageOf(p, rows, o.webhook)
	return &adminv1.ListWebhooksResponse{Webhooks: found, NextPageToken: next}, nil
}

// GetWebhook returns a webhook.
func (o *Operator) GetWebhook(ctx context.Context, in *adminv1.GetWebhookRequest) (*adminv1.Webhook, error) {
	return byID(ctx, o, webhookKind, in, o.webhooks.GetWebhook, o.webhook)
}

// UpdateWebhook changes the named fields of a webhook.
func (o *Operator) UpdateWebhook(ctx context.Context, in *adminv1.UpdateWebhookRequest) (*adminv1.Webhook, error) {
	row, err := callInRowStore(ctx, o, webhookKind, in, in, o.webhooks.UpdateWebhook)
	if err != nil {
		return nil, err
	}
	return o.webhook(row), nil
}

// EnableWebhook makes a webhook receive events again.
func (o *Operator) EnableWebhook(ctx context.Context, in *adminv1.EnableWebhookRequest) (*adminv1.Webhook, error) {
	return byID(ctx, o, webhookKind, in, o.webhooks.EnableWebhook, o.webhook)
}

// DisableWebhook makes a webhook receive nothing until it is enabled again.
func (o *Operator) DisableWebhook(ctx context.Context, in *adminv1.DisableWebhookRequest) (*adminv1.Webhook, error) {
	return byID(ctx, o, webhookKind, in, o.webhooks.DisableWebhook, o.webhook)
}

// DeleteWebhook deletes a webhook for good and returns it as it was.
func (o *Operator) DeleteWebhook(ctx context.Context, in *adminv1.DeleteWebhookRequest) (*adminv1.Webhook, error) {
	return byID(ctx, o, webhookKind, in, o.webhooks.DeleteWebhook, o.webhook)
}

// RotateSecret gives a webhook a new signing secret. Only its answer has it.
func (o *Operator) RotateSecret(ctx context.Context, in *adminv1.RotateSecretRequest) (*adminv1.RotateSecretResponse, error) {
	return byID(tenant.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), o, webhookKind, in, o.webhooks.RotateSecret,
		func(made webhooks.SecretWebhook) *adminv1.RotateSecretResponse {
			return &adminv1.RotateSecretResponse{Webhook: o.webhook(made.Webhook), Secret: made.Secret}
		})
}

// PingWebhook sends a ping event to a webhook and returns the delivery.
func (o *Operator) PingWebhook(ctx context.Context, in *adminv1.PingWebhookRequest) (*adminv1.Delivery, error) {
	return byID(ctx, o, webhookKind, in, o.webhooks.PingWebhook, delivery)
}
