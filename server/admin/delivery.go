package admin

import (
	"context"
	"fmt"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/webhook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/validate"
	"go.storefront.example/server/webhooks"
)

func delivery(e queue.Entry) *adminv1.Delivery {
	m := &adminv1.Delivery{
		Id: e.ID.String(), StoreId: e.StoreID.String(), EventId: e.EventID.String(), EventType: e.EventType,
		WebhookId: e.WebhookID.String(),
		Status:    enum[adminv1.Delivery_Status](e.Status), NextAttemptAt: apijson.OptionalTimestamp(e.NextAttemptAt),
		CreatedAt: apijson.Timestamp(e.CreatedAt), FinishedAt: apijson.OptionalTimestamp(e.FinishedAt),
		AttemptCount: int32(len(e.Attempts)), //nolint:gosec // At most eight attempts.
		Attempts:     convertAll(e.Attempts, attempt),
	}
	if n := len(m.Attempts); n > 0 {
		m.LastStatusCode, m.LastError = m.Attempts[n-1].StatusCode, m.Attempts[n-1].Error
	}
	return m
}

// deliveryWithAnswers is for one delivery, because answers are too long for lists.
func deliveryWithAnswers(e queue.Entry) *adminv1.Delivery {
	m := delivery(e)
	for i, a := range e.Attempts {
		if a.Answer != "" {
			m.Attempts[i].Answer = &a.Answer
		}
	}
	return m
}

func attempt(a queue.Attempt) *adminv1.Delivery_Attempt {
	m := &adminv1.Delivery_Attempt{
		Number: int32(a.Number), StartedAt: apijson.Timestamp(a.StartedAt), DurationMs: a.Duration.Milliseconds(), //nolint:gosec // At most eight attempts.
	}
	if a.StatusCode != 0 {
		code := int32(a.StatusCode) //nolint:gosec // A status has three digits.
		m.StatusCode = &code
	}
	if a.Error != "" {
		m.Error = &a.Error
	}
	return m
}

// ListDeliveries accepts the id of a deleted webhook. With a text, a page has the deliveries of the newest events that contain
// it.
func (o *Operator) ListDeliveries(ctx context.Context, in *adminv1.ListDeliveriesRequest) (*adminv1.ListDeliveriesResponse,
	error) {
	var refused problems
	// Deliveries are listed by id, the token. A search for a text has a time and an event's id.
	token := in.GetPageToken()
	before, isID := validate.ParseID(token)
	if isID {
		token = ""
	}
	p := refused.page(in, token)
	search := webhooks.Search{Webhook: in.GetWebhookId(), Text: in.GetText(), BeforeAt: p.at, Search: queue.Search{
		EventType: in.GetEventType(), Since: refused.timeOf("since", in.GetSince()), Until: refused.timeOf("until", in.GetUntil()),
		Before: p.id, Retrying: in.GetRetrying(), Limit: p.size + 1,
	}}
	if isID {
		search.Before = before
	}
	if in.GetStatus() != 0 {
		search.Status = in.GetStatus().String()
	}
	ctx, err := o.withSearchStore(ctx, &refused, in)
	if err != nil {
		return nil, err
	}
	found, err := o.webhooks.ListDeliveries(ctx, search)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListDeliveriesResponse{}
	if events := found.Events; events != nil {
		out.LookedBackTo = apijson.Timestamp(events.EndAt)
		if events.More {
			out.NextPageToken = tokenOf(events.EndAt, events.EndID)
		}
	} else if in.GetText() == "" && len(found.Entries) > p.size {
		found.Entries = found.Entries[:p.size]
		out.NextPageToken = found.Entries[p.size-1].ID.String()
	}
	out.Deliveries = convertAll(found.Entries, delivery)
	return out, nil
}

// withSearchStore returns the context of the store of ctx, the search or the webhook. It refuses with refused's problems, and
// refuses a webhook of another store, but not the id of a deleted one.
func (o *Operator) withSearchStore(ctx context.Context, refused *problems, in *adminv1.ListDeliveriesRequest) (context.Context,
	error) {
	_, _, hasStore := tenant.From(ctx)
	if in.GetStore() == "" && in.GetWebhookId() == "" && !hasStore {
		refused.Invalid("store", "must name the store, or webhookId a webhook")
	}
	switch err := refused.Err(); {
	case err != nil:
		return nil, err
	case in.GetStore() == "" && !hasStore:
		return o.withRowStore(ctx, webhookKind, "", in.GetWebhookId())
	}
	ctx, t, err := o.check(ctx, nil, in.GetStore())
	if err != nil {
		return nil, err
	}
	if id, ok := validate.ParseID(in.GetWebhookId()); ok && in.GetStore() != "" {
		others, err := o.db.Client().Webhook.Query().Where(webhook.ID(id), webhook.StoreIDNEQ(t.ID)).Exist(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for a webhook in other stores: %w", err)
		}
		if others {
			return nil, webhookKind.notFound(in.GetWebhookId())
		}
	}
	return ctx, nil
}

// GetDelivery returns a delivery with its payload and the receivers' answers.
func (o *Operator) GetDelivery(ctx context.Context, in *adminv1.GetDeliveryRequest) (*adminv1.GetDeliveryResponse, error) {
	return byID(ctx, o, deliveryKind, in, o.webhooks.GetDelivery, func(d webhooks.Delivery) *adminv1.GetDeliveryResponse {
		out := &adminv1.GetDeliveryResponse{Delivery: deliveryWithAnswers(d.Entry)}
		if d.Payload != nil {
			out.Payload = new(string(d.Payload))
		}
		return out
	})
}

// ResendDelivery makes a waiting delivery due now, and returns it. The event of a finished one it sends again, and returns the
// new delivery.
func (o *Operator) ResendDelivery(ctx context.Context, in *adminv1.ResendDeliveryRequest) (*adminv1.Delivery, error) {
	return byID(ctx, o, deliveryKind, in, o.webhooks.ResendDelivery, delivery)
}
