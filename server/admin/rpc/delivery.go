package rpc

import (
	"context"
	"time"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/service"
)

// deliveryMessage is a delivery with its attempts.
func deliveryMessage(e queue.Entry) *adminv1.Delivery {
	m := &adminv1.Delivery{
		Id: e.ID.String(), StoreId: e.StoreID.String(), EventId: e.EventID.String(), EventType: e.EventType, WebhookId: e.WebhookID.String(),
		Status: enum[adminv1.Delivery_Status](e.Status), NextAttemptAt: wire.OptionalTimestamp(e.NextAttemptAt),
		CreatedAt: wire.Timestamp(e.CreatedAt), FinishedAt: wire.OptionalTimestamp(e.FinishedAt),
	}
	for _, a := range e.Attempts {
		attempt := &adminv1.Delivery_Attempt{
			Number: int32(a.Number), StartedAt: wire.Timestamp(a.StartedAt), DurationMs: a.Duration.Milliseconds(), //nolint:gosec // At most eight.
		}
		if a.StatusCode != 0 {
			code := int32(a.StatusCode) //nolint:gosec // A status has three digits.
			attempt.StatusCode = &code
		}
		if a.Error != "" {
			attempt.Error = &a.Error
		}
		m.Attempts = append(m.Attempts, attempt)
	}
	return m
}

// entryOf is what deliveryMessage made a message of.
func entryOf(m *adminv1.Delivery) (queue.Entry, error) {
	var r ids
	e := queue.Entry{
		ID: r.read(m.GetId()), StoreID: r.read(m.GetStoreId()), EventID: r.read(m.GetEventId()), EventType: m.GetEventType(),
		WebhookID: r.read(m.GetWebhookId()), Status: m.GetStatus().String(), NextAttemptAt: moment(m.GetNextAttemptAt()),
		CreatedAt: m.GetCreatedAt().AsTime(), FinishedAt: moment(m.GetFinishedAt()),
	}
	for _, a := range m.GetAttempts() {
		e.Attempts = append(e.Attempts, queue.Attempt{
			Number: int(a.GetNumber()), StartedAt: a.GetStartedAt().AsTime(), Duration: time.Duration(a.GetDurationMs()) * time.Millisecond,
			StatusCode: int(a.GetStatusCode()), Error: a.GetError(),
		})
	}
	return e, r.err
}

// answerDelivery is the answer of an operation that ends with a delivery.
func answerDelivery(e queue.Entry, err error) (*adminv1.Delivery, error) {
	if err != nil {
		return nil, err
	}
	return deliveryMessage(e), nil
}

// ListDeliveries serves DeliveryService.ListDeliveries.
func (s handlers) ListDeliveries(ctx context.Context, in *adminv1.ListDeliveriesRequest) (*adminv1.ListDeliveriesResponse, error) {
	var f fields
	f.known("status", in.GetStatus())
	search := service.DeliverySearch{WebhookID: in.GetWebhookId(), EventType: in.GetType(), Before: in.GetBefore(), Limit: f.limit(in.Limit)}
	if in.GetStatus() != 0 {
		search.Status = in.GetStatus().String()
	}
	if in.GetStore() == "" && in.GetWebhookId() == "" {
		f.refuse("store", "must name the store, or webhookId a webhook")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	list := s.operator.ListDeliveriesTo
	if in.GetStore() != "" {
		list = func(ctx context.Context, which service.DeliverySearch) ([]queue.Entry, error) {
			return s.operator.ListDeliveries(ctx, in.GetStore(), which)
		}
	}
	found, err := list(ctx, search)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListDeliveriesResponse{}
	for _, e := range found {
		out.Deliveries = append(out.Deliveries, deliveryMessage(e))
	}
	return out, nil
}

// GetDelivery serves DeliveryService.GetDelivery.
func (s handlers) GetDelivery(ctx context.Context, in *adminv1.GetDeliveryRequest) (*adminv1.GetDeliveryResponse, error) {
	d, err := s.operator.GetDelivery(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	out := &adminv1.GetDeliveryResponse{Delivery: deliveryMessage(d.Entry)}
	if d.Payload != nil {
		payload := string(d.Payload)
		out.Payload = &payload
	}
	return out, nil
}

// ResendDelivery serves DeliveryService.ResendDelivery.
func (s handlers) ResendDelivery(ctx context.Context, in *adminv1.ResendDeliveryRequest) (*adminv1.Delivery, error) {
	return answerDelivery(s.operator.ResendDelivery(ctx, in.GetId()))
}

// ListDeliveries is admin.Operator's.
func (c *Client) ListDeliveries(ctx context.Context, storeName string, which service.DeliverySearch) ([]queue.Entry, error) {
	in := &adminv1.ListDeliveriesRequest{
		Store: storeName, WebhookId: which.WebhookID, Type: which.EventType, Before: which.Before, Limit: limitOf(which.Limit),
	}
	if which.Status != "" {
		in.Status = enum[adminv1.Delivery_Status](which.Status).Enum()
	}
	out, err := c.deliveries.ListDeliveries(ctx, in)
	return read(c, out, err, func(out *adminv1.ListDeliveriesResponse) ([]queue.Entry, error) {
		return each(out.GetDeliveries(), entryOf)
	})
}

// ListDeliveriesTo is admin.Operator's.
func (c *Client) ListDeliveriesTo(ctx context.Context, which service.DeliverySearch) ([]queue.Entry, error) {
	return c.ListDeliveries(ctx, "", which)
}

// GetDelivery is admin.Operator's.
func (c *Client) GetDelivery(ctx context.Context, id string) (service.Delivery, error) {
	out, err := c.deliveries.GetDelivery(ctx, &adminv1.GetDeliveryRequest{Id: id})
	return read(c, out, err, func(out *adminv1.GetDeliveryResponse) (service.Delivery, error) {
		e, err := entryOf(out.GetDelivery())
		d := service.Delivery{Entry: e}
		if out.Payload != nil {
			d.Payload = []byte(out.GetPayload())
		}
		return d, err
	})
}

// ResendDelivery is admin.Operator's.
func (c *Client) ResendDelivery(ctx context.Context, id string) (queue.Entry, error) {
	out, err := c.deliveries.ResendDelivery(ctx, &adminv1.ResendDeliveryRequest{Id: id})
	return read(c, out, err, entryOf)
}
