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
	// resendHold is how long a step reserves a resend for its process. Each step renews it; if the
	// process dies, another one continues after this time at the latest.
	resendHold = 15 * time.Second
	// clockSpread is how far the clocks of the hosts that write events and deliveries may differ. The
	// time in a delivery's id is at most this much before that of its event.
	clockSpread = 24 * time.Hour
	// resendAhead is how far beyond the time of its order a resend takes events: an event that happened
	// before the order has a later time if its host's clock was ahead. Events after the order need no
	// resend.
	resendAhead = time.Minute
)

// Resend is the order to send a webhook again every event since a time that has not succeeded there,
// and its progress.
//
//	OrderResend ──► unfinished ──► StepResend: the next events, position moves on ──┐
//	                    ▲            │ killed: after 15 s any process continues     │
//	                    └────────────┴──────────────────────────────────────────────┤
//	                                 finished: no event left, or its webhook was disabled or deleted
//
// One transaction contains a step and its deliveries, and steps for one webhook run one after the
// other. So no event is left out or sent twice, however many processes take part and wherever they die.
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
	// Elsewhere means that another process works on it: the step did nothing.
	Elsewhere bool
	// Hold lets the caller's next step run at once: until this time, no other process takes the resend. Zero
	// reserves nothing.
	Hold time.Time
}

// OrderResend orders a resend, and makes no step of it. If the webhook has an unfinished resend that
// covers the time, the order extends that one to events until now. Events that it has passed already are
// read once more at its end, because their deliveries may have failed meanwhile. In both cases the
// resend is reserved for the caller. The caller has locked the webhook's row in this transaction and
// found the webhook enabled.
func OrderResend(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID, since time.Time) (Resend, error) {
	now := hook.Time(ctx)
	job, err := readResend(ctx, tx, `store_id = $1 AND webhook_id = $2 AND finished_at IS NULL AND since <= $3
 ORDER BY created_at, id LIMIT 1`, storeID, webhookID, since)
	switch {
	case err == nil:
		// No step of this resend runs meanwhile: each locks the webhook's row first.
		var again *time.Time
		if job.positionAt.After(since) || job.positionAt.Equal(since) && job.positionID != uuid.Nil {
			again = &since
		}
		if job.againSince != nil && (again == nil || job.againSince.Before(*again)) {
			again = job.againSince
		}
		_, err = tx.ExecContext(ctx, "UPDATE resends SET until = $1, again_since = $2 WHERE id = $3", now.Add(resendAhead), again, job.ID)
	case errors.Is(err, ErrNoResend):
		job.Resend = Resend{ID: id.At(now), StoreID: storeID, WebhookID: webhookID, Since: since}
		// By this host's clock for now: hold sets due_at by the database's.
		_, err = tx.ExecContext(ctx, `INSERT INTO resends (id, store_id, webhook_id, since, until, position_at, position_id, stopped, resent, due_at, created_at)
 VALUES ($1, $2, $3, $4, $5, $4, $6, false, 0, $7, $7)`, job.ID, storeID, webhookID, since, now.Add(resendAhead), uuid.Nil, now)
	}
	if err != nil {
		return Resend{}, fmt.Errorf("order a resend: %w", err)
	}
	job.Hold, err = hold(ctx, tx, s, job.ID)
	return job.Resend, err
}

// resending is a resend and how far it has come.
type resending struct {
	Resend
	until      time.Time  // it takes events before this one
	positionAt time.Time  // of the last event that it looked at
	positionID uuid.UUID  // the same event
	againSince *time.Time // from when on it looks once more at what it has passed, after the rest
}

// readResend reads the resend for which a condition holds, or returns ErrNoResend.
func readResend(ctx context.Context, tx *ent.Tx, where string, args ...any) (job resending, err error) {
	err = ErrNoResend
	for row := range db.Rows(ctx, tx, `SELECT id, store_id, webhook_id, since, resent, finished_at IS NOT NULL, stopped,
 until, position_at, position_id, again_since FROM resends WHERE `+where, args...) {
		err = row.Scan(&job.ID, &job.StoreID, &job.WebhookID, &job.Since, &job.Resent, &job.Finished, &job.Stopped,
			&job.until, &job.positionAt, &job.positionID, &job.againSince)
	}
	return job, err
}

// DueResends lists unfinished resends that no process has reserved, those that wait longest first.
func DueResends(ctx context.Context, s *db.DB, limit int) ([]uuid.UUID, error) {
	due, err := idsIn(db.Rows(ctx, s.Reader(), "SELECT id FROM resends WHERE finished_at IS NULL AND due_at <= "+dialectOf(s).present(1)+
		" ORDER BY due_at LIMIT $2", s.Moment(), limit))
	return due, wrap("list resends", err)
}

// ErrNoResend means that there is no resend with this id.
var ErrNoResend = errors.New("no such resend")

// StepResend does one step of a resend: of the next events, it sends those now that wait there for another
// attempt, and adds a delivery for each that the webhook subscribes to and that neither is on its way there
// nor ever succeeded there. held is the
// Hold that the caller's step before returned, or zero if the caller has made none. It returns
// ErrNoResend when there is none with this id, and does nothing when it is finished.
func StepResend(ctx context.Context, s *db.DB, resendID uuid.UUID, held time.Time) (Resend, error) {
	var (
		r       Resend
		stepped bool
	)
	err := s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		job, err := readResend(ctx, tx, "id = $1", resendID)
		if err != nil {
			return wrap("read the resend", err)
		}
		// Disabling a webhook and ordering a resend lock the webhook's row first too.
		w, err := lockWebhook(ctx, tx, s, job.StoreID, job.WebhookID)
		if err != nil && !ent.IsNotFound(err) {
			return fmt.Errorf("read the webhook: %w", err)
		}
		free, err := lockResend(ctx, tx, s, resendID, held)
		if err != nil {
			return err
		}
		if job, err = readResend(ctx, tx, "id = $1", resendID); err != nil {
			return wrap("read the resend", err)
		}
		stepped = false
		switch {
		case job.Finished:
		case !free:
			job.Elsewhere = true
		case w == nil || !w.Enabled:
			job.Finished, job.Stopped = true, true
			err = job.save(ctx, tx)
		default:
			stepped = true
			err = step(ctx, tx, s, &job, w.Events)
		}
		r = job.Resend
		return err
	})
	if err != nil {
		return Resend{}, fmt.Errorf("step of resend %s: %w", resendID, err)
	}
	if stepped {
		// A relay may have skipped entries of the outbox that the step had locked.
		s.Announce()
	}
	return r, nil
}

// step carries out a step of a resend. This transaction has locked its row and its webhook's.
func step(ctx context.Context, tx *ent.Tx, s *db.DB, job *resending, subscribed []string) error {
	if err := planSafely(ctx, tx, dialectOf(s)); err != nil {
		return err
	}
	page, err := nextEvents(ctx, tx, s, *job)
	if err != nil {
		return err
	}
	hurried, err := sendPage(ctx, tx, s, *job)
	if err != nil {
		return err
	}
	due := page.missing(*job, subscribed, hook.Time(ctx))
	if err := Add(ctx, tx, s, due); err != nil {
		return err
	}
	job.Resent += hurried + len(due)
	if len(page) > 0 {
		last := page[len(page)-1]
		job.positionAt, job.positionID = last.at, last.id
	}
	switch {
	case len(page) == resendStep:
	case job.againSince != nil:
		job.positionAt, job.positionID, job.againSince = *job.againSince, uuid.Nil, nil
	default:
		job.Finished = true
	}
	if err := job.save(ctx, tx); err != nil {
		return err
	}
	job.Hold, err = hold(ctx, tx, s, job.ID)
	return err
}

// save writes how far a resend has come.
func (job resending) save(ctx context.Context, tx *ent.Tx) error {
	var finishedAt *time.Time
	if job.Finished {
		finishedAt = new(hook.Time(ctx))
	}
	_, err := tx.ExecContext(ctx, `UPDATE resends SET resent = $1, position_at = $2, position_id = $3, again_since = $4, stopped = $5, finished_at = $6
 WHERE store_id = $7 AND id = $8`, job.Resent, job.positionAt, job.positionID, job.againSince, job.Stopped, finishedAt, job.StoreID, job.ID)
	return wrap("move the resend on", err)
}

// lockResend locks the row of a resend and reports whether the caller may make a step: held is the
// present reservation, or the last one has ended.
func lockResend(ctx context.Context, tx *ent.Tx, s *db.DB, resendID uuid.UUID, held time.Time) (bool, error) {
	d := dialectOf(s)
	free := false
	for row := range db.Rows(ctx, tx, "SELECT due_at <= "+d.present(1)+" OR due_at = $2 FROM resends WHERE id = $3"+d.forUpdate, s.Moment(), held.UTC(), resendID) {
		if err := row.Scan(&free); err != nil {
			return false, wrap("take the resend", err)
		}
	}
	return free, nil
}

// hold reserves a resend for resendHold, by the database's clock, and returns the Hold that the next step
// needs.
func hold(ctx context.Context, tx *ent.Tx, s *db.DB, resendID uuid.UUID) (time.Time, error) {
	var until storedTime
	for row := range db.Rows(ctx, tx, dialectOf(s).hold, s.Moment(), resendHold.Milliseconds(), resendID) {
		if err := row.Scan(&until); err != nil {
			return time.Time{}, wrap("hold the resend", err)
		}
	}
	if until.at == nil {
		return time.Time{}, nil
	}
	return *until.at, nil
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
// found in one of them. Scalar subqueries look up each event in the indexes by event, at the same cost
// however much waits; for an EXISTS a database might read whole tables. The lower bound on ids leaves
// out the journal's days before the position. A waiting delivery of an earlier epoch of the webhook is
// cancelled, and so does not settle its event.
var nextEventsOf = `WITH page AS (SELECT id, type, created_at` + pageOfEvents + `) SELECT page.id, page.type, page.created_at,
 (SELECT 1 FROM deliveries d WHERE d.store_id = $1 AND d.event_id >= page.id AND d.event_id <= page.id AND d.webhook_id = $5
  AND (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $5 AND ` + current + ` LIMIT 1) IS NOT NULL
  ORDER BY d.event_id LIMIT 1) IS NOT NULL
 OR (SELECT 1 FROM outbox o WHERE o.store_id = $1 AND o.event_id >= page.id AND o.event_id <= page.id
  ORDER BY o.event_id LIMIT 1) IS NOT NULL
 OR (SELECT 1 FROM finished_deliveries f WHERE f.store_id = $1 AND f.event_id = page.id AND f.webhook_id = $5
  AND f.status = 'succeeded' AND f.id >= $6 LIMIT 1) IS NOT NULL
 FROM page ORDER BY page.created_at, page.id`

func nextEvents(ctx context.Context, tx *ent.Tx, s *db.DB, job resending) (pastEvents, error) {
	if keep := dialectOf(s).keepQueued; keep != "" {
		if _, err := tx.ExecContext(ctx, keep, job.StoreID, job.positionAt, job.positionID, job.until); err != nil {
			return nil, fmt.Errorf("keep the outbox: %w", err)
		}
	}
	var page pastEvents
	for row := range db.Rows(ctx, tx, nextEventsOf, job.StoreID, job.positionAt, job.positionID, job.until,
		job.WebhookID, id.Floor(job.positionAt.Add(-clockSpread))) {
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
func (page pastEvents) missing(job resending, subscribed []string, now time.Time) []Draft {
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

// lockWebhook locks a webhook's row for the rest of the transaction, so that nobody enables or disables
// it and its resends run one after the other. SQLite has a single writer and needs no locks.
func lockWebhook(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID, how ...entsql.LockOption) (*ent.Webhook, error) {
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
