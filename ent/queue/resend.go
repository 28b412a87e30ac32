package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/resend"
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
	// Finished tells that there is nothing left to do.
	Finished bool
	// Stopped tells that it has finished because its webhook was disabled or deleted, whatever was left.
	Stopped bool
	// Elsewhere tells that another process is on it: the step did nothing.
	Elsewhere bool
	// Hold is what the next step is to be given to go on at once. Zero holds nothing.
	Hold time.Time
}

// OrderResend orders a resend; its first step is still to be made. One for the same webhook that
// is not finished and takes events from no later a time is joined: it then takes in what happened
// until now, looks again, once it is through, at what it has passed of the time ordered, since
// deliveries may have failed meanwhile, and is the caller's to go on with. The caller has taken the webhook's row for this
// transaction and knows that it is enabled.
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
	statement := "SELECT id FROM resends WHERE finished_at IS NULL AND due_at <= " + moment(s, 1) + " ORDER BY due_at LIMIT $2"
	rows, err := s.Reader().QueryContext(ctx, statement, s.Moment(), limit)
	if err != nil {
		return nil, fmt.Errorf("list resends: %w", err)
	}
	defer rows.Close()
	var due []uuid.UUID
	for rows.Next() {
		var one uuid.UUID
		if err := rows.Scan(&one); err != nil {
			return nil, fmt.Errorf("list resends: %w", err)
		}
		due = append(due, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list resends: %w", err)
	}
	return due, nil
}

// ErrNoResend says that there is no resend with this id.
var ErrNoResend = errors.New("no such resend")

// StepResend does one step of a resend: it adds a delivery for each of the next events that the
// webhook subscribes to and that neither is on its way there nor ever succeeded there. hold is
// what the step before returned; zero is a process that takes the resend up. It returns
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
		events, enabled, err := subscription(ctx, tx, s, job)
		if err != nil {
			return err
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
		case !enabled:
			r.Finished, r.Stopped = true, true
			return job.Update().SetFinishedAt(hook.Time(ctx)).SetStopped(true).Exec(ctx)
		}
		stepped = true
		return step(ctx, tx, s, job, events, &r)
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
	if err := planSafely(ctx, tx, s); err != nil {
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

// subscription takes the webhook's row and returns what it subscribes to.
func subscription(ctx context.Context, tx *ent.Tx, s *db.DB, job *ent.Resend) (events []string, enabled bool, err error) {
	w, err := lockWebhook(ctx, tx, s, job.StoreID, job.WebhookID)
	if ent.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the webhook: %w", err)
	}
	return w.Events, w.Enabled, nil
}

// lockResend takes the row of a resend and tells whether the caller may go on with it: because it
// is the one who holds it, or because nobody does any more.
func lockResend(ctx context.Context, tx *ent.Tx, s *db.DB, resendID uuid.UUID, held time.Time) (bool, error) {
	statement := "SELECT due_at <= " + moment(s, 1) + " OR due_at = $2 FROM resends WHERE id = $3"
	if s.Dialect() == dialect.Postgres {
		statement += " FOR UPDATE"
	}
	rows, err := tx.QueryContext(ctx, statement, s.Moment(), held.UTC(), resendID)
	if err != nil {
		return false, fmt.Errorf("take the resend: %w", err)
	}
	defer rows.Close()
	free := false
	if rows.Next() {
		if err := rows.Scan(&free); err != nil {
			return false, fmt.Errorf("take the resend: %w", err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return false, fmt.Errorf("take the resend: %w", err)
	}
	return free, nil
}

// hold keeps a resend from other processes for a while, by the database's clock, and returns what
// the holder shows to go on.
func hold(ctx context.Context, tx *ent.Tx, s *db.DB, resendID uuid.UUID) (time.Time, error) {
	if s.Dialect() == dialect.SQLite {
		job, err := tx.Resend.Get(ctx, resendID)
		if err != nil {
			return time.Time{}, fmt.Errorf("hold the resend: %w", err)
		}
		until := s.Now().Add(resendHold)
		if !until.After(job.DueAt) {
			until = job.DueAt.Add(time.Millisecond) // two holds of one millisecond are two
		}
		_, err = tx.ExecContext(ctx, "UPDATE resends SET due_at = $1 WHERE id = $2", until, resendID)
		if err != nil {
			return time.Time{}, fmt.Errorf("hold the resend: %w", err)
		}
		return until, nil
	}
	rows, err := tx.QueryContext(ctx, `UPDATE resends SET due_at = GREATEST(
  COALESCE($1::timestamptz, clock_timestamp()) + make_interval(secs => $2), due_at + interval '1 millisecond')
 WHERE id = $3 RETURNING due_at`, s.Moment(), resendHold.Seconds(), resendID)
	if err != nil {
		return time.Time{}, fmt.Errorf("hold the resend: %w", err)
	}
	defer rows.Close()
	var until sql.NullTime
	if rows.Next() {
		if err := rows.Scan(&until); err != nil {
			return time.Time{}, fmt.Errorf("hold the resend: %w", err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return time.Time{}, fmt.Errorf("hold the resend: %w", err)
	}
	return until.Time.UTC(), nil
}
