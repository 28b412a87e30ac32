package queue

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The ends that a delivery can come to, in the journal's words.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Outcome is what becomes of a delivery whose attempt was made.
type Outcome struct {
	Delivery Delivery
	// Attempt is the attempt; nil when none was made, as for a webhook that was disabled meanwhile.
	Attempt *Attempt
	// Status is Succeeded, Failed or Cancelled; empty when there is to be another attempt.
	Status string
	// Delay is how long after now that is due.
	Delay time.Duration
	// Counts is whether a failure counts towards the disabling of the webhook.
	Counts bool
}

// held are the places of the rows whose lease still holds. Each is locked, and so stays where it
// is until the statement's end.
const held = `held AS (
 SELECT d.place, r.* FROM r CROSS JOIN LATERAL (SELECT ctid AS place FROM deliveries
  WHERE id >= r.id AND id <= r.id AND lease = r.lease ORDER BY id LIMIT 1 FOR UPDATE) d)`

const (
	endPostgres = `WITH r AS (
 SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(id uuid, lease uuid, webhook_id uuid, status text, attempts text, healthy boolean)),
` + held + `,
gone AS (
 DELETE FROM deliveries d USING held h WHERE d.ctid = h.place
 RETURNING d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, h.status, h.attempts, d.created_at),
mended AS (
 SELECT w.place FROM (SELECT DISTINCT webhook_id FROM r WHERE healthy) h CROSS JOIN LATERAL (SELECT ctid AS place FROM webhooks
  WHERE id >= h.webhook_id AND id <= h.webhook_id AND failing_since IS NOT NULL ORDER BY id LIMIT 1 FOR UPDATE) w),
healthy AS (
 UPDATE webhooks w SET failing_since = NULL FROM mended m WHERE w.ctid = m.place)
INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT id, store_id, webhook_id, event_id, event_type, status, convert_to(attempts, 'UTF8'), created_at, $2 FROM gone`

	waitPostgres = `WITH r AS (
 SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid, attempts text, delay bigint)),
` + held + `
UPDATE deliveries d SET retry = true, lease = NULL, attempts = convert_to(h.attempts, 'UTF8'),
 due_at = ` + present + ` + h.delay * interval '1 millisecond'
 FROM held h WHERE d.ctid = h.place`

	relapsedPostgres = `UPDATE webhooks SET failing_since = date_trunc('milliseconds', ` + present + `)
 WHERE enabled AND id IN (SELECT value::uuid FROM jsonb_array_elements_text($2::jsonb))`
	failingPostgres = relapsedPostgres + ` AND failing_since IS NULL`

	moveSQLite = `INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, r.value->>'status', CAST(r.value->>'attempts' AS BLOB), d.created_at, $1
 FROM json_each($2) r JOIN deliveries d ON d.id = r.value->>'id' AND d.lease = r.value->>'lease'`
	dropSQLite = `DELETE FROM deliveries WHERE id IN (
 SELECT d.id FROM json_each($1) r JOIN deliveries d ON d.id = r.value->>'id' AND d.lease = r.value->>'lease')`
	healthySQLite = `UPDATE webhooks SET failing_since = NULL WHERE failing_since IS NOT NULL
 AND id IN (SELECT value->>'webhook_id' FROM json_each($1) WHERE value->>'healthy')`
	waitSQLite = `UPDATE deliveries SET retry = true, lease = NULL, attempts = CAST(r.value->>'attempts' AS BLOB),
 due_at = $1 + (r.value->>'delay')
 FROM json_each($2) r WHERE deliveries.id = r.value->>'id' AND deliveries.lease = r.value->>'lease'`
	relapsedSQLite = `UPDATE webhooks SET failing_since = $1 WHERE enabled AND id IN (SELECT value FROM json_each($2))`
	failingSQLite  = relapsedSQLite + ` AND failing_since IS NULL`
)

type endRow struct {
	ID        uuid.UUID `json:"id"`
	Lease     uuid.UUID `json:"lease"`
	WebhookID uuid.UUID `json:"webhook_id"`
	Status    string    `json:"status"`
	Attempts  string    `json:"attempts"`
	Healthy   bool      `json:"healthy"`
}

type waitRow struct {
	ID       uuid.UUID `json:"id"`
	Lease    uuid.UUID `json:"lease"`
	Attempts string    `json:"attempts"`
	Delay    int64     `json:"delay"`
}

// health is what outcomes tell of their webhooks.
type health struct {
	// failing are those with a failure that counts and no success, relapsed those with such a failure
	// after their last success.
	failing, relapsed []uuid.UUID
}

// healthOf goes by the order of the outcomes.
func healthOf(outcomes []Outcome) health {
	type history struct{ succeeded, failed bool }
	webhooks := map[uuid.UUID]history{}
	for _, o := range outcomes {
		switch webhook := o.Delivery.WebhookID; {
		case o.Attempt == nil:
		case o.Status == Succeeded:
			webhooks[webhook] = history{succeeded: true}
		case o.Counts && o.Status != Cancelled:
			webhooks[webhook] = history{succeeded: webhooks[webhook].succeeded, failed: true}
		}
	}
	var h health
	for webhook, is := range webhooks {
		switch {
		case is.failed && is.succeeded:
			h.relapsed = append(h.relapsed, webhook)
		case is.failed:
			h.failing = append(h.failing, webhook)
		}
	}
	return h
}

// Finish writes outcomes down, which are in the order in which their attempts ended: ends move to
// the journal, the rest wait for their next attempt. An outcome whose lease was lost meanwhile
// changes nothing; lost is how many were. A webhook whose last success nothing that counts has
// followed fails no longer; one with a failure that counts fails from now on, unless it did without
// a success in between.
func (q *Queue) Finish(ctx context.Context, outcomes []Outcome) (lost int, err error) {
	var (
		ends  []endRow
		waits []waitRow
	)
	health := healthOf(outcomes)
	for _, o := range outcomes {
		attempts := o.Delivery.Attempts
		if o.Attempt != nil {
			if attempts, err = appendAttempt(attempts, *o.Attempt); err != nil {
				return 0, wrap("finish", err)
			}
		}
		if o.Status == "" {
			waits = append(waits, waitRow{o.Delivery.ID, o.Delivery.Lease, string(attempts), milliseconds(o.Delay)})
		} else {
			ends = append(ends, endRow{
				o.Delivery.ID, o.Delivery.Lease, o.Delivery.WebhookID, o.Status, string(attempts),
				o.Status == Succeeded && !slices.Contains(health.relapsed, o.Delivery.WebhookID),
			})
		}
	}
	// A failure is known before a delivery that waits because of it can be claimed again.
	var kept int64
	if q.sqlite() {
		kept, err = q.finishSQLite(ctx, ends, waits, health)
	} else {
		kept, err = q.finishPostgres(ctx, ends, waits, health)
	}
	return len(outcomes) - int(kept), wrap("finish", err)
}

func (q *Queue) finishPostgres(ctx context.Context, ends []endRow, waits []waitRow, health health) (kept int64, err error) {
	db := q.store.Writer()
	if err := health.write(ctx, db, failingPostgres, relapsedPostgres, q.store.Moment()); err != nil {
		return 0, err
	}
	if len(waits) > 0 {
		set, err := rowset(waits)
		if err != nil {
			return 0, err
		}
		if kept, err = affected(db.ExecContext(ctx, waitPostgres, q.store.Moment(), set)); err != nil {
			return 0, err
		}
	}
	if len(ends) > 0 {
		set, err := rowset(ends)
		if err != nil {
			return kept, err
		}
		n, err := affected(db.ExecContext(ctx, endPostgres, set, q.store.Now()))
		return kept + n, err
	}
	return kept, nil
}

func (q *Queue) finishSQLite(ctx context.Context, ends []endRow, waits []waitRow, health health) (kept int64, err error) {
	tx, err := q.store.Writer().BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	now := q.store.Now()
	if err := health.write(ctx, tx, failingSQLite, relapsedSQLite, now); err != nil {
		return 0, err
	}
	if len(waits) > 0 {
		set, err := rowset(waits)
		if err != nil {
			return 0, err
		}
		if kept, err = affected(tx.ExecContext(ctx, waitSQLite, now, set)); err != nil {
			return 0, err
		}
	}
	if len(ends) > 0 {
		set, err := rowset(ends)
		if err != nil {
			return 0, err
		}
		n, err := affected(tx.ExecContext(ctx, moveSQLite, now, set))
		if err != nil {
			return 0, err
		}
		kept += n
		for _, statement := range []string{dropSQLite, healthySQLite} {
			if _, err := tx.ExecContext(ctx, statement, set); err != nil {
				return 0, err
			}
		}
	}
	return kept, tx.Commit()
}

// write marks the webhooks that fail.
func (h health) write(ctx context.Context, db execer, failing, relapsed string, now any) error {
	for _, mark := range []struct {
		statement string
		webhooks  []uuid.UUID
	}{{failing, h.failing}, {relapsed, h.relapsed}} {
		if len(mark.webhooks) == 0 {
			continue
		}
		set, err := rowset(mark.webhooks)
		if err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, mark.statement, now, set); err != nil {
			return err
		}
	}
	return nil
}

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

const (
	releasePostgres = `WITH r AS (SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid)),
` + held + `
UPDATE deliveries d SET lease = NULL, due_at = ` + present + ` FROM held h WHERE d.ctid = h.place`
	releaseSQLite = `UPDATE deliveries SET lease = NULL, due_at = $1
 FROM json_each($2) r WHERE deliveries.id = r.value->>'id' AND deliveries.lease = r.value->>'lease'`
)

// Release gives leased deliveries back without an attempt; they are due at once.
func (q *Queue) Release(ctx context.Context, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	rows := make([]waitRow, len(deliveries))
	for i, d := range deliveries {
		rows[i] = waitRow{ID: d.ID, Lease: d.Lease}
	}
	set, err := rowset(rows)
	if err != nil {
		return wrap("release", err)
	}
	statement := releasePostgres
	if q.sqlite() {
		statement = releaseSQLite
	}
	_, err = q.store.Writer().ExecContext(ctx, statement, q.store.Moment(), set)
	return wrap("release", err)
}
