package rpc

import (
	"context"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/service"
)

// webhookMessage is a webhook without its secret.
func webhookMessage(w service.Webhook) *adminv1.Webhook {
	return &adminv1.Webhook{
		Id: w.ID.String(), Url: w.URL, Description: w.Description, Events: w.Events, State: enum[adminv1.Webhook_State](w.State),
		FailingSince: wire.OptionalTimestamp(w.FailingSince), DisablesAt: wire.OptionalTimestamp(w.DisablesAt),
		DisabledAt: wire.OptionalTimestamp(w.DisabledAt), DisabledAutomatically: w.DisabledAutomatically,
		CreatedAt: wire.Timestamp(w.CreatedAt), UpdatedAt: wire.Timestamp(w.UpdatedAt),
	}
}

// webhookOf is what webhookMessage made a message of.
func webhookOf(m *adminv1.Webhook) (service.Webhook, error) {
	var r ids
	return service.Webhook{
		ID: r.read(m.GetId()), URL: m.GetUrl(), Description: m.GetDescription(), Events: m.GetEvents(),
		State: m.GetState().String(), Enabled: m.GetState() != adminv1.Webhook_disabled,
		FailingSince: moment(m.GetFailingSince()), DisablesAt: moment(m.GetDisablesAt()), DisabledAt: moment(m.GetDisabledAt()),
		DisabledAutomatically: m.GetDisabledAutomatically(), CreatedAt: m.GetCreatedAt().AsTime(), UpdatedAt: m.GetUpdatedAt().AsTime(),
	}, r.err
}

// answerWebhook is the answer of an operation that ends with a webhook.
func answerWebhook(w service.Webhook, err error) (*adminv1.Webhook, error) {
	if err != nil {
		return nil, err
	}
	return webhookMessage(w), nil
}

// CreateWebhook serves WebhookService.CreateWebhook.
func (s handlers) CreateWebhook(ctx context.Context, in *adminv1.CreateWebhookRequest) (*adminv1.CreateWebhookResponse, error) {
	w, err := s.operator.CreateWebhook(ctx, in.GetStore(), service.WebhookDraft{
		URL: in.GetUrl(), Description: in.GetDescription(), Events: in.GetEvents(),
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateWebhookResponse{Webhook: webhookMessage(w), Secret: w.Secret}, nil
}

// ListWebhooks serves WebhookService.ListWebhooks.
func (s handlers) ListWebhooks(ctx context.Context, in *adminv1.ListWebhooksRequest) (*adminv1.ListWebhooksResponse, error) {
	var f fields
	limit := f.limit(in.Limit)
	if err := f.err(); err != nil {
		return nil, err
	}
	webhooks, err := s.operator.ListWebhooks(ctx, in.GetStore(), limit)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListWebhooksResponse{}
	for _, w := range webhooks {
		out.Webhooks = append(out.Webhooks, webhookMessage(w))
	}
	return out, nil
}

// UpdateWebhook serves WebhookService.UpdateWebhook.
func (s handlers) UpdateWebhook(ctx context.Context, in *adminv1.UpdateWebhookRequest) (*adminv1.Webhook, error) {
	c := changesOf(in, "id")
	change := service.WebhookChange{URL: value(c, "url", in.Url), Description: value(c, "description", in.Description)}
	if c.names("events") {
		change.Events = append([]string{}, in.GetEvents()...)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return answerWebhook(s.operator.UpdateWebhook(ctx, in.GetId(), change))
}

// EnableWebhook serves WebhookService.EnableWebhook.
func (s handlers) EnableWebhook(ctx context.Context, in *adminv1.EnableWebhookRequest) (*adminv1.Webhook, error) {
	return answerWebhook(s.operator.EnableWebhook(ctx, in.GetId()))
}

// DisableWebhook serves WebhookService.DisableWebhook.
func (s handlers) DisableWebhook(ctx context.Context, in *adminv1.DisableWebhookRequest) (*adminv1.Webhook, error) {
	return answerWebhook(s.operator.DisableWebhook(ctx, in.GetId()))
}

// DeleteWebhook serves WebhookService.DeleteWebhook.
func (s handlers) DeleteWebhook(ctx context.Context, in *adminv1.DeleteWebhookRequest) (*adminv1.Webhook, error) {
	return answerWebhook(s.operator.DeleteWebhook(ctx, in.GetId()))
}

// RotateSecret serves WebhookService.RotateSecret.
func (s handlers) RotateSecret(ctx context.Context, in *adminv1.RotateSecretRequest) (*adminv1.RotateSecretResponse, error) {
	w, err := s.operator.RotateSecret(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return &adminv1.RotateSecretResponse{Webhook: webhookMessage(w), Secret: w.Secret}, nil
}

// PingWebhook serves WebhookService.PingWebhook.
func (s handlers) PingWebhook(ctx context.Context, in *adminv1.PingWebhookRequest) (*adminv1.Delivery, error) {
	return answerDelivery(s.operator.PingWebhook(ctx, in.GetId()))
}

// CreateWebhook is admin.Operator's.
func (c *Client) CreateWebhook(ctx context.Context, storeName string, d service.WebhookDraft) (service.Webhook, error) {
	out, err := c.webhooks.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{
		Store: storeName, Url: d.URL, Description: d.Description, Events: d.Events,
	})
	return read(c, out, err, func(out *adminv1.CreateWebhookResponse) (service.Webhook, error) {
		w, err := webhookOf(out.GetWebhook())
		w.Secret = out.GetSecret()
		return w, err
	})
}

// ListWebhooks is admin.Operator's.
func (c *Client) ListWebhooks(ctx context.Context, storeName string, limit int) ([]service.Webhook, error) {
	out, err := c.webhooks.ListWebhooks(ctx, &adminv1.ListWebhooksRequest{Store: storeName, Limit: limitOf(limit)})
	return read(c, out, err, func(out *adminv1.ListWebhooksResponse) ([]service.Webhook, error) {
		return each(out.GetWebhooks(), webhookOf)
	})
}

// UpdateWebhook is admin.Operator's.
func (c *Client) UpdateWebhook(ctx context.Context, id string, change service.WebhookChange) (service.Webhook, error) {
	out, err := c.webhooks.UpdateWebhook(ctx, &adminv1.UpdateWebhookRequest{
		Id: id, Url: change.URL, Description: change.Description, Events: change.Events,
		UpdateMask: mask(named{"url", change.URL != nil}, named{"description", change.Description != nil}, named{"events", change.Events != nil}),
	})
	return read(c, out, err, webhookOf)
}

// EnableWebhook is admin.Operator's.
func (c *Client) EnableWebhook(ctx context.Context, id string) (service.Webhook, error) {
	out, err := c.webhooks.EnableWebhook(ctx, &adminv1.EnableWebhookRequest{Id: id})
	return read(c, out, err, webhookOf)
}

// DisableWebhook is admin.Operator's.
func (c *Client) DisableWebhook(ctx context.Context, id string) (service.Webhook, error) {
	out, err := c.webhooks.DisableWebhook(ctx, &adminv1.DisableWebhookRequest{Id: id})
	return read(c, out, err, webhookOf)
}

// DeleteWebhook is admin.Operator's.
func (c *Client) DeleteWebhook(ctx context.Context, id string) (service.Webhook, error) {
	out, err := c.webhooks.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: id})
	return read(c, out, err, webhookOf)
}

// RotateSecret is admin.Operator's.
func (c *Client) RotateSecret(ctx context.Context, id string) (service.Webhook, error) {
	out, err := c.webhooks.RotateSecret(ctx, &adminv1.RotateSecretRequest{Id: id})
	return read(c, out, err, func(out *adminv1.RotateSecretResponse) (service.Webhook, error) {
		w, err := webhookOf(out.GetWebhook())
		w.Secret = out.GetSecret()
		return w, err
	})
}

// PingWebhook is admin.Operator's.
func (c *Client) PingWebhook(ctx context.Context, id string) (queue.Entry, error) {
	out, err := c.webhooks.PingWebhook(ctx, &adminv1.PingWebhookRequest{Id: id})
	return read(c, out, err, entryOf)
}
