package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/validate"
)

func eventMessage(row *ent.Event) *adminv1.Event {
	return &adminv1.Event{
		Id: row.ID.String(), StoreId: row.StoreID.String(), Type: row.Type, CreatedAt: apijson.Timestamp(row.CreatedAt),
		Payload: string(row.Payload),
	}
}

// ListEvents returns a page of a store's events with their payloads.
func (o *Operator) ListEvents(ctx context.Context, in *adminv1.ListEventsRequest) (*adminv1.ListEventsResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	if in.GetType() != "" && in.GetType() != hook.Ping && !slices.Contains(hook.EventTypes(), in.GetType()) {
		refused.Invalid("type", "must be ping or one of "+strings.Join(hook.EventTypes(), ", "))
	}
	ctx, t, err := o.check(ctx, &refused, in.GetStore())
	if err != nil {
		return nil, err
	}
	query := o.db.ForStore(ctx).Client().Event.Query().Where(event.StoreID(t.ID), p.rows)
	if in.GetType() != "" {
		query.Where(event.Type(in.GetType()))
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	events, next := pageOf(p, rows, eventMessage)
	return &adminv1.ListEventsResponse{Events: events, NextPageToken: next}, nil
}

// GetEvent returns an event.
func (o *Operator) GetEvent(ctx context.Context, in *adminv1.GetEventRequest) (*adminv1.Event, error) {
	id, ok := validate.ParseID(in.GetId())
	if !ok {
		return nil, eventKind.notFound(in.GetId())
	}
	ctx, err := o.withOptionalStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	query := o.db.Client().Event.Query().Where(event.ID(id))
	if t, _, ok := tenant.From(ctx); ok {
		query.Where(event.StoreID(t.ID))
	}
	row, err := query.Only(ctx)
	if ent.IsNotFound(err) {
		return nil, eventKind.notFound(in.GetId())
	}
	if ent.IsNotSingular(err) {
		return nil, eventKind.severalStores(in.GetId())
	}
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	return eventMessage(row), nil
}

// PayloadsOf returns payloads by the event's id, without deleted events. The context must have the store (see WithStore).
func (o *Operator) PayloadsOf(ctx context.Context, ids []string) (map[string]string, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := o.db.ForStore(ctx).Client().Event.Query().Where(event.StoreID(t.ID), event.IDIn(parseIDs(ids)...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	payloads := map[string]string{}
	for _, row := range rows {
		payloads[row.ID.String()] = string(row.Payload)
	}
	return payloads, nil
}

// DeliveriesOf returns the deliveries of up to 25 events by the event's id, newest first. The context must have the store (see
// WithStore).
func (o *Operator) DeliveriesOf(ctx context.Context, events []string) (map[string][]*adminv1.Delivery, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	found, err := queue.EntriesOf(ctx, o.db, queue.Search{StoreID: t.ID}, parseIDs(events))
	if err != nil {
		return nil, err
	}
	byEvent := map[string][]*adminv1.Delivery{}
	for _, e := range found {
		byEvent[e.EventID.String()] = append(byEvent[e.EventID.String()], delivery(e))
	}
	return byEvent, nil
}

// CreatePing creates an event that streams of WatchEvents get, and webhooks do not.
func (o *Operator) CreatePing(ctx context.Context, in *adminv1.CreatePingRequest) (*adminv1.Event, error) {
	ctx, err := o.WithStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	row, err := o.webhooks.CreatePing(ctx)
	if err != nil {
		return nil, err
	}
	return eventMessage(row), nil
}
