package rpc

import (
	"context"

	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/service"
)

// eventMessage is an event with its payload, whose bytes are JSON and so the UTF-8 of a text.
func eventMessage(row *ent.Event) *adminv1.Event {
	return &adminv1.Event{
		Id: row.ID.String(), StoreId: row.StoreID.String(), Type: row.Type, CreatedAt: wire.Timestamp(row.CreatedAt), Payload: string(row.Payload),
	}
}

// ListEvents serves EventService.ListEvents.
func (s handlers) ListEvents(ctx context.Context, in *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	var f fields
	search := service.EventSearch{Type: in.GetType(), Before: in.GetBefore(), Limit: f.limit(in.Limit)}
	if err := f.err(); err != nil {
		return nil, err
	}
	events, err := s.operator.ListEvents(ctx, in.GetStore(), search)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListEventsResponse{}
	for _, row := range events {
		out.Events = append(out.Events, eventMessage(row))
	}
	return out, nil
}

// GetEvent serves EventService.GetEvent.
func (s handlers) GetEvent(ctx context.Context, in *adminv1.GetEventRequest) (*adminv1.Event, error) {
	row, err := s.operator.GetEvent(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return eventMessage(row), nil
}
