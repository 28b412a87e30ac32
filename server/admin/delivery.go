package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
)

// delivery is a delivery with its attempts.
func delivery(e queue.Entry) *adminv1.Delivery {
	m := &adminv1.Delivery{
		Id: e.ID.String(), StoreId: e.StoreID.String(), EventId: e.EventID.String(), EventType: e.EventType,
		WebhookId: e.WebhookID.String(),
		Status:    enum[adminv1.Delivery_Status](e.Status), NextAttemptAt: apijson.OptionalTimestamp(e.NextAttemptAt),
		CreatedAt: apijson.Timestamp(e.CreatedAt), FinishedAt: apijson.OptionalTimestamp(e.FinishedAt),
		AttemptCount: int32(len(e.Attempts)), //nolint:gosec // At most eight.
		Attempts:     each(e.Attempts, attempt),
	}
	if n := len(m.Attempts); n > 0 {
		m.LastStatusCode, m.LastError = m.Attempts[n-1].StatusCode, m.Attempts[n-1].Error
	}
	return m
}

func attempt(a queue.Attempt) *adminv1.Delivery_Attempt {
	m := &adminv1.Delivery_Attempt{
		Number: int32(a.Number), StartedAt: apijson.Timestamp(a.StartedAt), DurationMs: a.Duration.Milliseconds(), //nolint:gosec // At most eight.
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

// ListDeliveries returns a page of the deliveries of a store that match, also those to deleted
// webhooks, or of a webhook that is not deleted. It refuses with store_not_found or webhook_not_found
// and as webhooks.ListDeliveries does.
func (o *Operator) ListDeliveries(ctx context.Context, in *adminv1.ListDeliveriesRequest) (*adminv1.ListDeliveriesResponse,
	error) {
	var f fields
	search := DeliverySearch{ListDeliveriesRequest: in, Since: f.moment("since", in.GetSince())}
	if err := f.err(); err != nil {
		return nil, err
	}
	found, err := o.SearchDeliveries(ctx, search)
	if err != nil {
		return nil, err
	}
	return found.ListDeliveriesResponse, nil
}

// inSearch is In for the store that a search names, itself or by its webhook.
func (o *Operator) inSearch(ctx context.Context, f *fields, in *adminv1.ListDeliveriesRequest) (context.Context, error) {
	_, _, within := tenant.From(ctx)
	if in.GetStore() == "" && in.GetWebhookId() == "" && !within {
		f.refuse("store", "must name the store, or webhookId a webhook")
	}
	switch err := f.err(); {
	case err != nil:
		return nil, err
	case in.GetStore() == "" && !within:
		return o.inWebhook(ctx, in.GetWebhookId())
	}
	return o.In(ctx, in.GetStore())
}

// GetDelivery returns a delivery with its payload. It refuses with delivery_not_found.
func (o *Operator) GetDelivery(ctx context.Context, in *adminv1.GetDeliveryRequest) (*adminv1.GetDeliveryResponse, error) {
	ctx, err := o.inDelivery(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	d, err := o.webhooks.GetDelivery(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	out := &adminv1.GetDeliveryResponse{Delivery: delivery(d.Entry)}
	for i, a := range d.Attempts {
		if a.Answer != "" { // not in lists, which would be long
			out.Delivery.Attempts[i].Answer = &a.Answer
		}
	}
	if d.Payload != nil {
		payload := string(d.Payload)
		out.Payload = &payload
	}
	return out, nil
}

// FindDelivery returns a delivery by its id or, in a store, by a part of it. It refuses with store_not_found or
// delivery_not_found.
func (o *Operator) FindDelivery(ctx context.Context, in *adminv1.FindDeliveryRequest) (*adminv1.Delivery, error) {
	ctx, id, err := o.named(ctx, in.GetStore(), in.GetName(), apierr.DeliveryNotFound,
		[]string{"deliveries", "finished_deliveries"}, nil)
	if err != nil {
		return nil, err
	}
	found, err := o.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: id})
	return found.GetDelivery(), err
}

// ResendDelivery has the next attempt of a delivery that waits made now and returns it, or sends the event of one that
// has ended again and returns the new delivery. It refuses as webhooks.ResendDelivery does.
func (o *Operator) ResendDelivery(ctx context.Context, in *adminv1.ResendDeliveryRequest) (*adminv1.Delivery, error) {
	ctx, err := o.inDelivery(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return deliveryOr(o.webhooks.ResendDelivery(ctx, in.GetId()))
}

// inDelivery is In for the store that owns the delivery. A delivery that has ended refers to no other
// row: its own names the store.
func (o *Operator) inDelivery(ctx context.Context, id string) (context.Context, error) {
	var owner uuid.UUID
	if parsed, err := uuid.Parse(id); err == nil {
		entry, err := queue.FindEntry(ctx, o.db, o.db.Reader(), parsed)
		if err != nil && !errors.Is(err, queue.ErrNoDelivery) {
			return nil, fmt.Errorf("find the owner of %s: %w", id, err)
		}
		owner = entry.StoreID
	}
	return o.inOwner(ctx, id, apierr.DeliveryNotFound, func(uuid.UUID) predicate.Store { return store.ID(owner) })
}
