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

// Search selects deliveries of the context's store. ListDeliveries sets queue.Search's StoreID and WebhookID; callers leave
// these two empty.
type Search struct {
	queue.Search
	// Webhook is the id of a webhook, even of a deleted one; empty means all webhooks.
	Webhook string
	// Text is the id of an event or of a delivery, or a part of an event's payload; empty means no search for a text. In a
	// search for a part of a payload, Since and Until bound the time of the event. BeforeAt and Before are the time and the id
	// of an event: only older events are searched. Zero values mean no such limit.
	Text     string
	BeforeAt time.Time
}

// maxFoundEvents is how many events a call of ListDeliveries finds at most when it searches for a text, because
// queue.EntriesOf takes no more.
const maxFoundEvents = 25

// SearchResult has the deliveries that match a search.
type SearchResult struct {
	Entries []queue.Entry
	// Events says how far back ListDeliveries searched the payloads of events; nil if it searched none.
	Events *queue.FoundEvents
}

// ListDeliveries returns the store's newest deliveries that match search. queue.Entries documents the cost. queue.FindEvents
// documents how far back a search for a part of a payload looks. ListDeliveries refuses with validation_failed, or with
// webhook_not_found if the webhook's id is not a UUID.
func (w *Webhooks) ListDeliveries(ctx context.Context, search Search) (found SearchResult, err error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return found, err
	}
	p := &validate.Problems{}
	if search.Status != "" && !slices.Contains(queue.Statuses(), search.Status) {
		p.Invalid("status", "must be one of "+strings.Join(queue.Statuses(), ", "))
	}
	if search.EventType != "" && search.EventType != hook.Ping && !slices.Contains(hook.EventTypes(), search.EventType) {
		p.Invalid("eventType", "must be ping or one of "+strings.Join(hook.EventTypes(), ", "))
	}
	if !search.Since.IsZero() && !search.Until.IsZero() && !search.Since.Before(search.Until) {
		p.Invalid("until", "must be later than the time before it")
	}
	if err := p.Err(); err != nil {
		return found, err
	}
	search.StoreID = t.ID
	if err := w.restrictToWebhook(ctx, &search.Search, search.Webhook); err != nil {
		return found, err
	}
	if search.Text == "" {
		found.Entries, err = queue.Entries(ctx, w.db, search.Search)
		return found, err
	}
	if id, ok := validate.ParseID(search.Text); ok {
		entry, err := w.entryOf(ctx, t.ID, id)
		if err == nil {
			return SearchResult{Entries: []queue.Entry{entry}}, nil
		}
		if _, ok := errors.AsType[*apierr.Refusal](err); !ok {
			return found, err
		}
		entries, err := queue.EntriesOf(ctx, w.db, search.Search, []uuid.UUID{id})
		if err != nil || len(entries) > 0 {
			return SearchResult{Entries: entries}, err
		}
	}
	if search.BeforeAt.IsZero() {
		search.BeforeAt = search.Until
	}
	events, err := queue.FindEvents(ctx, w.db, queue.EventSearch{
		StoreID: t.ID, Text: search.Text, EventType: search.EventType, From: search.Since,
		BeforeAt: search.BeforeAt, BeforeID: search.Before, Limit: min(search.Limit, maxFoundEvents),
	})
	if err != nil {
		return found, err
	}
	entries, err := queue.EntriesOf(ctx, w.db, search.Search, events.IDs)
	return SearchResult{entries, &events}, err
}

// restrictToWebhook restricts a search to the named webhook, if any.
func (w *Webhooks) restrictToWebhook(ctx context.Context, search *queue.Search, webhookID string) error {
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
		// No delivery is older than its webhook. Begin 24 hours earlier, because the clocks of two machines may differ.
		if from := row.CreatedAt.Add(-24 * time.Hour); from.After(search.Since) {
			search.Since = from
		}
	case !ent.IsNotFound(err):
		return fmt.Errorf("read webhook: %w", err)
	}
	return nil
}

// Delivery is a delivery with its event.
type Delivery struct {
	queue.Entry
	// Payload is the event envelope, byte for byte; nil if the event has been deleted.
	Payload []byte
}

// GetDelivery returns a delivery of the store.
func (w *Webhooks) GetDelivery(ctx context.Context, id string) (Delivery, error) {
	t, deliveryID, err := validate.StoreAndID(ctx, id, deliveryNotFound)
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

// entryOf reads a delivery of the store.
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
