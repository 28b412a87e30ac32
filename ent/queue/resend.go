package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
)

const (
	// resendStep is how many events one step of a resend looks at.
	resendStep = 500
	// resendAhead is how far beyond the time of its order a resend takes events: an event that happened
	// before the order has a later time if its host's clock was ahead. Events after the order need no
	// resend.
	resendAhead = time.Minute
)

// Resend is the order to send a webhook again every event since a time that has not succeeded there,
// and its progress.
//
//	OrderResend ──► unfinished ──► StepResend: the next events, position moves on ──┐
//	                    ▲            │ killed: any process continues                │
//	                    └────────────┴──────────────────────────────────────────────┤
//	                                 finished: no event left, or its webhook was disabled or deleted
//
// One transaction contains a step and its deliveries, and steps for one webhook run one after the
// other. So no event is left out or sent twice, however many processes take part and wherever they die, and
// however many resends of one webhook there are.
type Resend struct {
	ID, StoreID, WebhookID uuid.UUID
	// Since is the earliest time of an event that it takes.
	Since time.Time
	// Resent is how many deliveries it made so far, or had sent now that waited for their next attempt.
	Resent int
	// Finished means that there is nothing left to do.
	Finished bool
	// Stopped means that it ended early because its webhook was disabled or deleted.
	Stopped bool
}

// OrderResend orders a resend, and makes no step of it. The caller has locked the webhook's row in this
// transaction and found the webhook enabled.
func OrderResend(ctx context.Context, tx *ent.Tx, storeID, webhookID uuid.UUID, since time.Time) (Resend, error) {
	now := hook.Time(ctx)
	r := Resend{ID: id.At(now), StoreID: storeID, WebhookID: webhookID, Since: since}
	_, err := tx.ExecContext(ctx, `INSERT INTO resends (id, store_id, webhook_id, since, until, position_at, position_id, stopped, resent, created_at)
 VALUES ($1, $2, $3, $4, $5, $4, $6, false, 0, $7)`, r.ID, storeID, webhookID, since, now.Add(resendAhead), uuid.Nil, now)
	return r, wrap("order a resend", err)
}

// resending is a resend and how far it has come.
type resending struct {
	Resend
	until      time.Time // it takes events before this one
	positionAt time.Time // of the last event that it looked at
	positionID uuid.UUID // the same event
}

// readResend reads a resend, or returns ErrNoResend.
func readResend(ctx context.Context, on db.Querier, resendID uuid.UUID) (job resending, err error) {
	err = ErrNoResend
	for row := range db.Rows(ctx, on, `SELECT id, store_id, webhook_id, since, resent, finished_at IS NOT NULL, stopped,
 until, position_at, position_id FROM resends WHERE id = $1`, resendID) {
		err = row.Scan(&job.ID, &job.StoreID, &job.WebhookID, &job.Since, &job.Resent, &job.Finished, &job.Stopped,
			&job.until, &job.positionAt, &job.positionID)
	}
	return job, wrap("read the resend", err)
}

// UnfinishedResends lists unfinished resends, the oldest first.
func UnfinishedResends(ctx context.Context, s *db.DB, limit int) ([]uuid.UUID, error) {
	found, err := idsIn(db.Rows(ctx, s.Reader(), "SELECT id FROM resends WHERE finished_at IS NULL ORDER BY id LIMIT $1", limit))
	return found, wrap("list resends", err)
}

// ErrNoResend means that there is no resend with this id.
var ErrNoResend = errors.New("no such resend")

// StepResend does one step of a resend: of the next events, it sends those now that wait there for another
// attempt, and adds a delivery for each that the webhook subscribes to and that neither is on its way there
// nor ever succeeded there. It returns
// ErrNoResend when there is none with this id, and does nothing when it is finished.
func StepResend(ctx context.Context, s *db.DB, resendID uuid.UUID) (Resend, error) {
	var r Resend
	err := s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		job, err := readResend(ctx, tx, resendID)
		if err != nil {
			return err
		}
		// Disabling a webhook and ordering a resend lock the webhook's row first too.
		w, err := lockWebhook(ctx, tx, s, job.StoreID, job.WebhookID)
		if err != nil && !ent.IsNotFound(err) {
			return fmt.Errorf("read the webhook: %w", err)
		}
		// Other steps may have come between the first look and the lock.
		if job, err = readResend(ctx, tx, resendID); err != nil {
			return err
		}
		switch {
		case job.Finished:
		case w == nil || !w.Enabled:
			job.Finished, job.Stopped = true, true
			err = job.save(ctx, tx)
		default:
			err = step(ctx, tx, s, &job, w)
		}
		r = job.Resend
		return err
	})
	if err != nil {
		return Resend{}, fmt.Errorf("step of resend %s: %w", resendID, err)
	}
	// The deliveries are new, and a relay may have skipped entries of the outbox that the step had locked.
	s.Announce()
	return r, nil
}

// step carries out a step of a resend. This transaction has locked its webhook's row.
func step(ctx context.Context, tx *ent.Tx, s *db.DB, job *resending, w *ent.Webhook) error {
	page, err := nextEvents(ctx, tx, s, *job)
	if err != nil {
		return err
	}
	hurried, err := sendPage(ctx, tx, s, *job)
	if err != nil {
		return err
	}
	due := page.missing(w, hook.Time(ctx))
	if err := Add(ctx, tx, s, due); err != nil {
		return err
	}
	job.Resent += hurried + len(due)
	if len(page) > 0 {
		last := page[len(page)-1]
		job.positionAt, job.positionID = last.at, last.id
	}
	job.Finished = len(page) < resendStep
	return job.save(ctx, tx)
}

// save writes how far a resend has come.
func (job resending) save(ctx context.Context, tx *ent.Tx) error {
	var finishedAt *time.Time
	if job.Finished {
		finishedAt = new(hook.Time(ctx))
	}
	_, err := tx.ExecContext(ctx, `UPDATE resends SET resent = $1, position_at = $2, position_id = $3, stopped = $4, finished_at = $5
 WHERE store_id = $6 AND id = $7`, job.Resent, job.positionAt, job.positionID, job.Stopped, finishedAt, job.StoreID, job.ID)
	return wrap("move the resend on", err)
}

// pastEvent is an event that a resend looks at.
type pastEvent struct {
	id   uuid.UUID
	kind string
	at   time.Time
	// settled means that it needs no resend: its delivery has succeeded or is pending, or it is still in
	// the outbox.
	settled bool
}

type pastEvents []pastEvent

var pageOfEvents = ` FROM events
 WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND created_at < $4
 ORDER BY created_at, id LIMIT ` + strconv.Itoa(resendStep)

// nextEventsOf reads the events after the position, and whether each is settled at the webhook. It is
// one statement: an event that moves from the outbox to the deliveries or on to the journal meanwhile is
// found in one of them. A waiting delivery of an earlier epoch of the webhook is cancelled, and so does not settle
// its event.
var nextEventsOf = `WITH page AS (SELECT id, type, created_at` + pageOfEvents + `) SELECT page.id, page.type, page.created_at,
 EXISTS (SELECT 1 FROM deliveries d JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND ` + attemptable + `
  WHERE d.store_id = $1 AND d.event_id = page.id AND d.webhook_id = $5)
 OR EXISTS (SELECT 1 FROM outbox o WHERE o.store_id = $1 AND o.event_id = page.id)
 OR EXISTS (SELECT 1 FROM finished_deliveries f
  WHERE f.store_id = $1 AND f.event_id = page.id AND f.webhook_id = $5 AND f.status = 'succeeded')
 FROM page ORDER BY page.created_at, page.id`

func nextEvents(ctx context.Context, tx *ent.Tx, s *db.DB, job resending) (pastEvents, error) {
	position := []any{job.StoreID, job.positionAt, job.positionID, job.until}
	if !dialectOf(s).singleWriter {
		// It waits for a relay that has locked entries of the page's events, perhaps before the webhook was
		// enabled, and locks those that are left until the step commits.
		if _, err := tx.ExecContext(ctx, `SELECT id FROM outbox WHERE store_id = $1 AND event_id IN (SELECT id`+pageOfEvents+
			`) FOR SHARE`,
			position...); err != nil {
			return nil, fmt.Errorf("keep the outbox: %w", err)
		}
	}
	var page pastEvents
	for row := range db.Rows(ctx, tx, nextEventsOf, append(position, job.WebhookID)...) {
		var e pastEvent
		if err := row.Scan(&e.id, &e.kind, &e.at, &e.settled); err != nil {
			return nil, wrap("read events", err)
		}
		page = append(page, e)
	}
	return page, nil
}

// missing returns the deliveries to add for the page's events. None is a ping: no webhook subscribes to
// that.
func (page pastEvents) missing(w *ent.Webhook, now time.Time) []Draft {
	var due []Draft
	for _, e := range page {
		if !e.settled && slices.Contains(w.Events, e.kind) {
			due = append(due, Draft{
				ID: id.At(now), StoreID: w.StoreID, WebhookID: w.ID, EventID: e.id, EventType: e.kind, Epoch: w.Epoch,
			})
		}
	}
	return due
}

// lockWebhook locks a webhook's row for the rest of the transaction, so that nobody enables or disables
// it and its resends run one after the other. SQLite has a single writer and needs no locks.
func lockWebhook(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID, how ...entsql.LockOption) (*ent.Webhook,
	error) {
	q := tx.Webhook.Query().Where(webhook.StoreID(storeID), webhook.ID(webhookID))
	if dialectOf(s).forUpdate != "" {
		q.ForUpdate(how...)
	}
	w, err := q.Only(ctx)
	if err != nil {
		return nil, err
	}
	return w, hook.Locked(ctx, w)
}
