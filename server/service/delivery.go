package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// DeliverySearch selects deliveries of the store.
type DeliverySearch struct {
	// WebhookID is the id of one webhook, which may have been deleted since; empty means all.
	WebhookID string
	// Status is one of queue.Statuses; empty means all.
	Status string
	// EventType is one of EventTypes or ping; empty means all.
	EventType string
	// Before is the id of a delivery: only older ones are listed. Empty means from the newest on.
	Before string
	// Limit bounds how many are listed.
	Limit int
}

// ListDeliveries returns the newest deliveries of the store that match; queue.Entries documents the
// cost. It refuses with validation_failed, or with webhook_not_found if the webhook's id is not a
// UUID.
func (s *Shop) ListDeliveries(ctx context.Context, which DeliverySearch) ([]queue.Entry, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &problems{}
	if which.Status != "" && !slices.Contains(queue.Statuses(), which.Status) {
		p.Invalid("status", "must be one of "+strings.Join(queue.Statuses(), ", "))
	}
	if which.EventType != "" && which.EventType != hook.Ping && !slices.Contains(EventTypes(), which.EventType) {
		p.Invalid("eventType", "must be ping or one of "+strings.Join(EventTypes(), ", "))
	}
	search := queue.Search{StoreID: t.ID, Status: which.Status, EventType: which.EventType, Limit: which.Limit}
	if which.Before != "" {
		before, ok := validate.ParseID(which.Before)
		if !ok {
			p.Invalid("pageToken", "must be the nextPageToken of an answer")
		}
		search.Before = before
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if which.WebhookID != "" {
		webhookID, ok := validate.ParseID(which.WebhookID)
		if !ok {
			return nil, webhookNotFound()
		}
		search.WebhookID = webhookID
		row, err := s.store.Client().Webhook.Query().Where(webhook.StoreID(t.ID), webhook.ID(webhookID)).Only(ctx)
		switch {
		case err == nil:
			search.From = row.CreatedAt
		case !ent.IsNotFound(err):
			return nil, fmt.Errorf("read webhook: %w", err)
		}
	}
	return queue.Entries(ctx, s.store, search)
}

// Delivery is a delivery with what it delivers.
type Delivery struct {
	queue.Entry
	// Payload is the event envelope in its exact bytes; nil when the event is kept no longer.
	Payload []byte
}

// GetDelivery returns a delivery of the store. It refuses with delivery_not_found.
func (s *Shop) GetDelivery(ctx context.Context, id string) (Delivery, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return Delivery{}, err
	}
	deliveryID, ok := validate.ParseID(id)
	if !ok {
		return Delivery{}, deliveryNotFound()
	}
	entry, err := s.entryOf(ctx, t.ID, deliveryID)
	if err != nil {
		return Delivery{}, err
	}
	row, err := s.store.Client().Event.Query().Where(event.ID(entry.EventID), event.StoreID(t.ID)).Only(ctx)
	if ent.IsNotFound(err) {
		return Delivery{Entry: entry}, nil
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("read event: %w", err)
	}
	return Delivery{entry, row.Payload}, nil
}

// entryOf reads a delivery of the store. It refuses with delivery_not_found.
func (s *Shop) entryOf(ctx context.Context, storeID, deliveryID uuid.UUID) (queue.Entry, error) {
	entry, err := queue.FindEntry(ctx, s.store, s.store.Reader(), deliveryID)
	if errors.Is(err, queue.ErrNoDelivery) || err == nil && entry.StoreID != storeID {
		return queue.Entry{}, deliveryNotFound()
	}
	return entry, err
}

func deliveryNotFound() error {
	return apierr.New(apierr.DeliveryNotFound, "There is no delivery with this id.")
}
