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
	"go.storefront.example/gen/ent/resend"
	"go.storefront.example/gen/ent/webhook"
)

const (
	// resendStep is how many events one step of a resend looks at.
	resendStep = 500
	// resendHold is how long a step keeps a resend from other processes. Whoever works on one
	// renews it with each step; when he dies another goes on after this time at the latest.
	resendHold = 15 * time.Second
	// clockSpread is how far the clocks of hosts may be apart that write events and deliveries: a
	// delivery's id is no older than its event by more than this.
	clockSpread = 24 * time.Hour
	// resendAhead is for how long after it is ordered a resend takes events: another host's clock
	// may have been ahead when one happened that this order is to take. What happens later by every
	// clock is on its way by itself, and so left alone.
	resendAhead = time.Minute
)

// Resend is the order to send again to a webhook every event since a time that never succeeded
// there, and how far it came.
//
//	OrderResend ──► unfinished ──► StepResend: the next events, position moves on ──┐
//	                    ▲            │ killed: after 15 s any process goes on       │
//	                    └────────────┴──────────────────────────────────────────────┤
//	                                 finished: no event left, or its webhook was disabled or deleted
//
// A step and its deliveries are one transaction, and steps for one webhook take turns, so that
// nothing is left out or doubled however many processes work on it and wherever they die.
type Resend struct {
	ID, StoreID, WebhookID uuid.UUID
	// Since is from when on events are taken.
	Since time.Time
	// Resent is how many deliveries it made so far.
	Resent int
	// Finished means that there is nothing left to do.
	Finished bool
	// Stopped means that it has finished because its webhook was disabled or deleted, whatever was left.
	Stopped bool
	// Elsewhere means that another process is on it: the step did nothing.
	Elsewhere bool
	// Hold is what the next step is to be given to go on at once. Zero holds nothing.
	Hold time.Time
}

// OrderResend orders a resend; its first step is still to be made. One for the same webhook that
// is not finished and takes events from no later a time is joined: it then takes in what happened
// until now, looks again, once it is through, at what it has passed of the time ordered, since
// deliveries may have failed meanwhile, and is the caller's to go on with. The caller has taken the webhook's row for this
// transaction and checked that it is enabled.
func OrderResend(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID, since time.Time) (Resend, error) {
	now := hook.Time(ctx)
	job, err := tx.Resend.Query().Where(resend.StoreID(storeID), resend.WebhookID(webhookID), resend.FinishedAtIsNil(), resend.SinceLTE(since)).
		Order(resend.ByCreatedAt(), resend.ByID()).First(ctx)
	switch {
	case err == nil:
		// The steps of this webhook's resends wait for its row.
		var again *time.Time
		if job.PositionAt.After(since) || job.PositionAt.Equal(since) && job.PositionID != uuid.Nil {
			again = &since
		}
		if job.AgainSince != nil && (again == nil || job.AgainSince.Before(*again)) {
			again = job.AgainSince
		}
		_, err = tx.ExecContext(ctx, "UPDATE resends SET until = $1, again_since = $2 WHERE id = $3", now.Add(resendAhead), again, job.ID)
	case ent.IsNotFound(err):
		// Due by the clock of this host; hold sets it by the database's.
		job, err = tx.Resend.Create().SetID(id.At(now)).SetStoreID(storeID).SetWebhookID(webhookID).SetSince(since).SetUntil(now.Add(resendAhead)).
			SetPositionAt(since).SetPositionID(uuid.Nil).SetDueAt(now).SetCreatedAt(now).Save(ctx)
	}
	if err != nil {
		return Resend{}, fmt.Errorf("order a resend: %w", err)
	}
	r := resendOf(job)
	r.Hold, err = hold(ctx, tx, s, job.ID)
	return r, err
}

func resendOf(row *ent.Resend) Resend {
	return Resend{
		ID: row.ID, StoreID: row.StoreID, WebhookID: row.WebhookID,
		Since: row.Since, Resent: int(row.Resent), Finished: row.FinishedAt != nil, Stopped: row.Stopped,
	}
}

// DueResends lists unfinished resends that nobody works on, those that wait longest first.
func DueResends(ctx context.Context, s *db.DB, limit int) ([]uuid.UUID, error) {
	rows, err := s.Reader().QueryContext(ctx, "SELECT id FROM resends WHERE finished_at IS NULL AND due_at <= "+dialectOf(s).present(1)+
		" ORDER BY due_at LIMIT $2", s.Moment(), limit)
	var due []uuid.UUID
	err = each(rows, err, func() error {
		var one uuid.UUID
		err := rows.Scan(&one)
		due = append(due, one)
		return err
	})
	return due, wrap("list resends", err)
}

// ErrNoResend means that there is no resend with this id.
var ErrNoResend = errors.New("no such resend")

// StepResend does one step of a resend: it adds a delivery for each of the next events that the
// webhook subscribes to and that neither is on its way there nor ever succeeded there. held is the
// Hold that the caller's step before returned, or zero if the caller has made none. It returns
// ErrNoResend when there is none with this id, and does nothing when it is finished.
func StepResend(ctx context.Context, s *db.DB, resendID uuid.UUID, held time.Time) (Resend, error) {
	var (
		r       Resend
		stepped bool
	)
	err := s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		job, err := tx.Resend.Get(ctx, resendID)
		if ent.IsNotFound(err) {
			return ErrNoResend
		}
		if err != nil {
			return fmt.Errorf("read the resend: %w", err)
		}
		// The webhook's row first, as whoever disables the webhook or orders another resend does.
		w, err := lockWebhook(ctx, tx, s, job.StoreID, job.WebhookID)
		if err != nil && !ent.IsNotFound(err) {
			return fmt.Errorf("read the webhook: %w", err)
		}
		free, err := lockResend(ctx, tx, s, resendID, held)
		if err != nil {
			return err
		}
		if job, err = tx.Resend.Get(ctx, resendID); err != nil {
			return fmt.Errorf("read the resend: %w", err)
		}
		r, stepped = resendOf(job), false
		switch {
		case r.Finished:
			return nil
		case !free:
			r.Elsewhere = true
			return nil
		case w == nil || !w.Enabled:
			r.Finished, r.Stopped = true, true
			return job.Update().SetFinishedAt(hook.Time(ctx)).SetStopped(true).Exec(ctx)
		}
		stepped = true
		return step(ctx, tx, s, job, w.Events, &r)
	})
	if err != nil {
		return Resend{}, fmt.Errorf("step of resend %s: %w", resendID, err)
	}
	if stepped {
		// A relay may also have passed by what the step kept from it.
		s.Announce()
	}
	return r, nil
}

// step carries out a step of a resend whose row and whose webhook's row this transaction has.
func step(ctx context.Context, tx *ent.Tx, s *db.DB, job *ent.Resend, subscribed []string, r *Resend) error {
	if err := planSafely(ctx, tx, dialectOf(s)); err != nil {
		return err
	}
	page, err := nextEvents(ctx, tx, s, job)
	if err != nil {
		return err
	}
	now := hook.Time(ctx)
	due := page.missing(job, subscribed, now)
	if err := Add(ctx, tx, s, due); err != nil {
		return err
	}
	r.Resent += len(due)
	u := job.Update().SetResent(int64(r.Resent))
	if len(page) > 0 {
		last := page[len(page)-1]
		u.SetPositionAt(last.at).SetPositionID(last.id)
	}
	switch {
	case len(page) == resendStep:
	case job.AgainSince != nil:
		u.SetPositionAt(*job.AgainSince).SetPositionID(uuid.Nil).ClearAgainSince()
	default:
		r.Finished = true
		u.SetFinishedAt(now)
	}
	if err := u.Exec(ctx); err != nil {
		return fmt.Errorf("move the resend on: %w", err)
	}
	r.Hold, err = hold(ctx, tx, s, job.ID)
	return err
}

// lockResend takes the row of a resend and reports whether the caller may go on with it: because it
// is the one who holds it, or because nobody does any more.
func lockResend(ctx context.Context, tx *ent.Tx, s *db.DB, resendID uuid.UUID, held time.Time) (bool, error) {
	d := dialectOf(s)
	rows, err := tx.QueryContext(ctx, "SELECT due_at <= "+d.present(1)+" OR due_at = $2 FROM resends WHERE id = $3"+d.forUpdate, s.Moment(), held.UTC(), resendID)
	free := false
	err = each(rows, err, func() error { return rows.Scan(&free) })
	return free, wrap("take the resend", err)
}

// hold keeps a resend from other processes for a while, by the database's clock, and returns what
// the holder shows to go on.
func hold(ctx context.Context, tx *ent.Tx, s *db.DB, resendID uuid.UUID) (time.Time, error) {
	rows, err := tx.QueryContext(ctx, dialectOf(s).hold, s.Moment(), resendHold.Milliseconds(), resendID)
	var until storedTime
	err = each(rows, err, func() error { return rows.Scan(&until) })
	if err != nil || until.at == nil {
		return time.Time{}, wrap("hold the resend", err)
	}
	return *until.at, nil
}

// pastEvent is an event that a resend looks at.
type pastEvent struct {
	id   uuid.UUID
	kind string
	at   time.Time
	// settled means that it needs no resend: it has succeeded, is on its way, or is still in the
	// outbox and about to be.
	settled bool
}

type pastEvents []pastEvent

var pageOfEvents = ` FROM events
 WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND created_at < $4
 ORDER BY created_at, id LIMIT ` + strconv.Itoa(resendStep)

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
	if keep := dialectOf(s).keepQueued; keep != "" {
		if _, err := tx.ExecContext(ctx, keep, job.StoreID, job.PositionAt, job.PositionID, job.Until); err != nil {
			return nil, fmt.Errorf("keep the outbox: %w", err)
		}
	}
	rows, err := tx.QueryContext(ctx, nextEventsOf, job.StoreID, job.PositionAt, job.PositionID, job.Until,
		job.WebhookID, id.Floor(job.PositionAt.Add(-clockSpread)))
	var page pastEvents
	err = each(rows, err, func() error {
		var e pastEvent
		err := rows.Scan(&e.id, &e.kind, &e.at, &e.settled)
		page = append(page, e)
		return err
	})
	return page, wrap("read events", err)
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
func lockWebhook(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID, how ...entsql.LockOption) (*ent.Webhook, error) {
	q := tx.Webhook.Query().Where(webhook.StoreID(storeID), webhook.ID(webhookID))
	if dialectOf(s).forUpdate != "" {
		q.ForUpdate(how...)
	}
	w, err := q.Only(ctx)
	if err != nil {
		return nil, err
	}
	return w, hook.Hold(ctx, w)
}
