package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// Search selects deliveries of the store.
type Search struct {
	// WebhookID is the id of one webhook, which may have been deleted since; empty means all.
	WebhookID string
	// Status is one of queue.Statuses; empty means all.
	Status string
	// Retrying restricts the status queue.Pending to deliveries of which an attempt has failed.
	Retrying bool
	// EventType is one of hook.EventTypes or ping; empty means all.
	EventType string
	// Text is the id of an event or of a delivery, or a part of an event's payload; empty means all.
	Text string
	// Since is the earliest time, and Until a time after the latest, at which deliveries were made, or
	// events with the text happened; zero means any.
	Since, Until time.Time
	// Before is the id of a delivery: only older ones are listed. Empty means from the newest on.
	Before string
	// Limit bounds how many are listed.
	Limit int
}

// ListDeliveries returns the newest deliveries of the store that match; queue.Entries documents the
// cost. It refuses with validation_failed, or with webhook_not_found if the webhook's id is not a
// UUID.
func (w *Webhooks) ListDeliveries(ctx context.Context, which Search) ([]queue.Entry, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &validate.Problems{}
	search := w.deliverySearch(p, t.ID, which)
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
	if err := w.ofWebhook(ctx, &search, which.WebhookID); err != nil {
		return nil, err
	}
	return queue.Entries(ctx, w.db, search)
}

// deliverySearch is the search with everything but its webhook and its place in the list.
func (w *Webhooks) deliverySearch(p *validate.Problems, storeID uuid.UUID, which Search) queue.Search {
	if which.Status != "" && !slices.Contains(queue.Statuses(), which.Status) {
		p.Invalid("status", "must be one of "+strings.Join(queue.Statuses(), ", "))
	}
	if which.EventType != "" && which.EventType != hook.Ping && !slices.Contains(hook.EventTypes(), which.EventType) {
		p.Invalid("eventType", "must be ping or one of "+strings.Join(hook.EventTypes(), ", "))
	}
	if !which.Since.IsZero() && !which.Until.IsZero() && !which.Since.Before(which.Until) {
		p.Invalid("until", "must be later than the time before it")
	}
	return queue.Search{
		StoreID: storeID, Status: which.Status, Retrying: which.Retrying, EventType: which.EventType,
		Since: which.Since, Until: which.Until, Limit: which.Limit,
	}
}

// ofWebhook restricts a search to a webhook, if one is named.
func (w *Webhooks) ofWebhook(ctx context.Context, search *queue.Search, webhookID string) error {
	if webhookID == "" {
		return nil
	}
	id, ok := validate.ParseID(webhookID)
	if !ok {
		return webhookNotFound()
	}
	search.WebhookID = id
	row, err := w.db.Client().Webhook.Query().Where(webhook.StoreID(search.StoreID), webhook.ID(id)).Only(ctx)
	switch {
	case err == nil:
		// No delivery is older than its webhook, but for the clocks of two hosts.
		if from := row.CreatedAt.Add(-24 * time.Hour); from.After(search.Since) {
			search.Since = from
		}
	case !ent.IsNotFound(err):
		return fmt.Errorf("read webhook: %w", err)
	}
	return nil
}

// FoundDeliveries are the deliveries of the events in which a text was found.
type FoundDeliveries struct {
	Entries []queue.Entry
	// Events is how far back the events were searched; nil if the text was an id.
	Events *queue.FoundEvents
}

// FindDeliveries looks for the text of a search: the id of an event or of a delivery or, from the event on
// that was at that place in time, a part of a payload; queue.FindEvents documents the bounds. It refuses as
// ListDeliveries does.
func (w *Webhooks) FindDeliveries(ctx context.Context, which Search, at time.Time, before uuid.UUID) (FoundDeliveries, error) {
	var none FoundDeliveries
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return none, err
	}
	p := &validate.Problems{}
	search := w.deliverySearch(p, t.ID, which)
	if err := p.Err(); err != nil {
		return none, err
	}
	if err := w.ofWebhook(ctx, &search, which.WebhookID); err != nil {
		return none, err
	}
	if id, ok := validate.ParseID(which.Text); ok {
		entry, err := w.entryOf(ctx, t.ID, id)
		if err == nil {
			return FoundDeliveries{Entries: []queue.Entry{entry}}, nil
		}
		if _, ok := errors.AsType[*apierr.Refusal](err); !ok {
			return none, err
		}
		entries, err := queue.EntriesOf(ctx, w.db, search, []uuid.UUID{id})
		if err != nil || len(entries) > 0 {
			return FoundDeliveries{Entries: entries}, err
		}
	}
	if at.IsZero() {
		at = which.Until
	}
	events, err := queue.FindEvents(ctx, w.db, queue.EventSearch{
		StoreID: t.ID, Text: which.Text, EventType: which.EventType, From: which.Since,
		BeforeAt: at, BeforeID: before, Limit: which.Limit,
	})
	if err != nil {
		return none, err
	}
	entries, err := queue.EntriesOf(ctx, w.db, search, events.IDs)
	return FoundDeliveries{entries, &events}, err
}

// Delivery is a delivery with its event.
type Delivery struct {
	queue.Entry
	// Payload is the event envelope, byte for byte; nil when the event has been deleted.
	Payload []byte
}

// GetDelivery returns a delivery of the store. It refuses with delivery_not_found.
func (w *Webhooks) GetDelivery(ctx context.Context, id string) (Delivery, error) {
	t, deliveryID, err := validate.Named(ctx, id, deliveryNotFound)
	if err != nil {
		return Delivery{}, err
	}
	entry, err := w.entryOf(ctx, t.ID, deliveryID)
	if err != nil {
		return Delivery{}, err
	}
	row, err := w.db.Client().Event.Query().Where(event.ID(entry.EventID), event.StoreID(t.ID)).Only(ctx)
	if ent.IsNotFound(err) {
		return Delivery{Entry: entry}, nil
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("read event: %w", err)
	}
	return Delivery{entry, row.Payload}, nil
}

// entryOf reads a delivery of the store. It refuses with delivery_not_found.
func (w *Webhooks) entryOf(ctx context.Context, storeID, deliveryID uuid.UUID) (queue.Entry, error) {
	entry, err := queue.FindEntry(ctx, w.db, w.db.Reader(), deliveryID)
	if errors.Is(err, queue.ErrNoDelivery) || err == nil && entry.StoreID != storeID {
		return queue.Entry{}, deliveryNotFound()
	}
	return entry, err
}

func deliveryNotFound() error {
	return apierr.New(apierr.DeliveryNotFound, "There is no delivery with this id.")
}
