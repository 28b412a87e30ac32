package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
)

// pastEvent is an event that a resend looks at.
type pastEvent struct {
	id   uuid.UUID
	kind string
	at   time.Time
	// settled tells that it needs no resend: it has succeeded, is on its way, or is still in the
	// outbox and about to be.
	settled bool
}

type pastEvents []pastEvent

var pageOfEvents = ` FROM events
 WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND created_at < $4
 ORDER BY created_at, id LIMIT ` + strconv.Itoa(resendStep)

// keepQueued waits for a relay that has taken entries of the page's events, which it may have
// begun to do before the webhook was enabled, and keeps those that are left from being taken until
// the step is committed. An event has one entry.
var keepQueued = `SELECT o.id FROM (SELECT id` + pageOfEvents + `) page CROSS JOIN LATERAL (SELECT id FROM outbox
 WHERE store_id = $1 AND event_id >= page.id AND event_id <= page.id ORDER BY event_id LIMIT 1 FOR SHARE) o`

// nextEventsOf reads the events after the position, with what became of each at the webhook. It
// is one statement, so that an event that passes from the outbox to the queue and on to the
// journal meanwhile is seen in one of them. Each event is looked up for itself, however much waits,
// by the indexes that sort by events; an EXISTS a database might take for a reason to read all.
// The lower bound on ids spares the journal's days before the position. What waits and is of an
// earlier epoch of the webhook is cancelled, and so is to be sent again.
var nextEventsOf = `WITH page AS (SELECT id, type, created_at` + pageOfEvents + `) SELECT page.id, page.type, page.created_at,
 (SELECT 1 FROM deliveries d WHERE d.store_id = $1 AND d.event_id >= page.id AND d.event_id <= page.id AND d.webhook_id = $5
  AND (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $5 AND ` + current + ` LIMIT 1) IS NOT NULL
  ORDER BY d.event_id LIMIT 1) IS NOT NULL
 OR (SELECT 1 FROM outbox o WHERE o.store_id = $1 AND o.event_id >= page.id AND o.event_id <= page.id
  ORDER BY o.event_id LIMIT 1) IS NOT NULL
 OR (SELECT 1 FROM finished_deliveries f WHERE f.store_id = $1 AND f.event_id = page.id AND f.webhook_id = $5
  AND f.status = 'succeeded' AND f.id >= $6 LIMIT 1) IS NOT NULL
 FROM page ORDER BY page.created_at, page.id`

func nextEvents(ctx context.Context, tx *ent.Tx, s *db.DB, job *ent.Resend) (pastEvents, error) {
	if s.Dialect() == dialect.Postgres {
		if _, err := tx.ExecContext(ctx, keepQueued, job.StoreID, job.PositionAt, job.PositionID, job.Until); err != nil {
			return nil, fmt.Errorf("keep the outbox: %w", err)
		}
	}
	rows, err := tx.QueryContext(ctx, nextEventsOf, job.StoreID, job.PositionAt, job.PositionID, job.Until,
		job.WebhookID, id.Floor(job.PositionAt.Add(-clockSpread)))
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	var page pastEvents
	for rows.Next() {
		var e pastEvent
		if err := rows.Scan(&e.id, &e.kind, &e.at, &e.settled); err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		page = append(page, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return page, nil
}

// missing are the deliveries to add for the page's events. A ping is never among them: nothing
// subscribes to it.
func (page pastEvents) missing(job *ent.Resend, subscribed []string, now time.Time) []Draft {
	var due []Draft
	for _, e := range page {
		if !e.settled && slices.Contains(subscribed, e.kind) {
			due = append(due, Draft{
				ID: id.At(now), StoreID: job.StoreID, WebhookID: job.WebhookID, EventID: e.id, EventType: e.kind,
			})
		}
	}
	return due
}

// lockWebhook takes a webhook's row for the rest of the transaction, so that it stays enabled or
// disabled and that its resends take turns. SQLite has a single writer and needs no locks.
func lockWebhook(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID) (*ent.Webhook, error) {
	q := tx.Webhook.Query().Where(webhook.StoreID(storeID), webhook.ID(webhookID))
	if s.Dialect() == dialect.Postgres {
		q.ForUpdate()
	}
	w, err := q.Only(ctx)
	if err != nil {
		return nil, err
	}
	return w, hook.Hold(ctx, w)
}

// moment is the place of the n-th argument, store.Moment, in a statement.
func moment(s *db.DB, n int) string { return momentOf(s.Dialect(), n) }

func momentOf(database string, n int) string {
	place := "$" + strconv.Itoa(n)
	if database == dialect.SQLite {
		return place
	}
	return "COALESCE(" + place + "::timestamptz, now())"
}
