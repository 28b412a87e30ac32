package queue

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"
)

const (
	// cancelBatch is how many deliveries one step of a cancellation looks at: others wait for its
	// transaction no longer than for a request of their own.
	cancelBatch = 400
	// lapPause is how long a cancellation waits between two laps through what waits for its webhook.
	lapPause = time.Second
)

// CancelStep is what one step of a cancellation did.
type CancelStep struct {
	// Worked is false when no cancellation is due, or other workers are at them.
	Worked bool
	// Cancelled is how many deliveries it moved to the journal.
	Cancelled int
}

// cancellation is an order as a step reads it.
type cancellation struct {
	id, storeID, webhookID uuid.UUID
	position               position
	// found is how many cancelled deliveries this lap has met so far.
	found int64
	at    time.Time
}

// position is a place in the order of what waits for a webhook.
type position struct {
	retry bool
	due   time.Time
	id    uuid.UUID
}

// looked is what a step found after its position.
type looked struct {
	// rows is how many deliveries it looked at, cancelled how many of them are, moved how many of
	// those it moved; the rest are under a lease or held by somebody.
	rows, cancelled, moved int64
	last                   position
}

const dueCancellation = `SELECT id, store_id, webhook_id, position_retry, position_due_at, position_id, found, created_at FROM cancellations
 WHERE due_at <= `

// cancelledAt is when delivery d, which is cancelled, was: with the first order after its epoch.
const cancelledAt = `(SELECT c.created_at FROM cancellations c WHERE c.store_id = d.store_id AND c.webhook_id = d.webhook_id AND c.epoch > d.epoch ORDER BY c.epoch LIMIT 1)`

var (
	// A page is read along the lanes' index and only then are those of its rows locked that are
	// cancelled, so that no claim has to pass a row that this passes.
	cancelPostgres = `WITH page AS (
 SELECT d.id, d.retry, d.due_at, w.id IS NULL AS cancelled FROM (
  SELECT * FROM deliveries d WHERE d.store_id = $2 AND d.webhook_id = $3 AND (d.retry, d.due_at, d.id) > ($4, $5, $6)
  ORDER BY d.retry, d.due_at, d.id LIMIT ` + strconv.Itoa(cancelBatch) + `) d
 LEFT JOIN LATERAL (SELECT w.id FROM webhooks w WHERE w.store_id = $2 AND w.id = $3 AND ` + current + ` LIMIT 1) w ON true),
held AS (
 SELECT h.place FROM page CROSS JOIN LATERAL (SELECT ctid AS place FROM deliveries
  WHERE id >= page.id AND id <= page.id AND (lease IS NULL OR due_at <= ` + present + `) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) h
 WHERE page.cancelled),
gone AS (
 DELETE FROM deliveries d USING held h WHERE d.ctid = h.place
 RETURNING d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch),
moved AS (
 INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, GREATEST(created_at, COALESCE(` + cancelledAt + `, $7))
 FROM gone d)
SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM page WHERE cancelled), (SELECT count(*) FROM gone), retry, due_at, id
 FROM page ORDER BY retry DESC, due_at DESC, id DESC LIMIT 1`

	pageSQLite = `SELECT d.id, d.retry, d.due_at, w.id IS NULL, d.lease IS NULL OR d.due_at <= $1 FROM (
  SELECT * FROM deliveries WHERE store_id = $2 AND webhook_id = $3 AND (retry, due_at, id) > ($4, $5, $6)
  ORDER BY retry, due_at, id LIMIT ` + strconv.Itoa(cancelBatch) + `) d
 LEFT JOIN webhooks w ON w.store_id = $2 AND w.id = $3 AND ` + current + ` ORDER BY d.retry, d.due_at, d.id`
)

const (
	copyCancelledSQLite = `INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, max(created_at, COALESCE(` + cancelledAt + `, $1))
 FROM deliveries d WHERE id IN (SELECT value FROM json_each($2))`
	deleteCancelledSQLite = `DELETE FROM deliveries WHERE id IN (SELECT value FROM json_each($1))`
)

// StepCancellation does the next step of the longest due cancellation, in a transaction of its own: it
// moves cancelled deliveries, a batch at most, to the journal, and the position on. A lap that
// meets none ends the cancellation. Several workers take turns; one that dies leaves nothing undone.
func (q *Queue) StepCancellation(ctx context.Context) (CancelStep, error) {
	var done CancelStep
	db := q.store.Writer()
	if q.sqlite() {
		db = q.store.Reader() // beginning to write makes others wait
	}
	var due bool
	err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cancellations WHERE due_at <= "+moment(q.store, 1)+")", q.store.Moment()).Scan(&due)
	if err != nil || !due {
		return done, wrap("look for cancellations", err)
	}
	tx, err := q.store.Writer().BeginTx(ctx, nil)
	if err != nil {
		return done, wrap("cancel", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	job, err := q.takeCancellation(ctx, tx)
	if errors.Is(err, sql.ErrNoRows) {
		return done, nil
	}
	if err != nil {
		return done, wrap("cancel", err)
	}
	found, err := q.movePage(ctx, tx, job)
	if err != nil {
		return done, wrap("cancel", err)
	}
	if err := q.moveOn(ctx, tx, job, found); err != nil {
		return done, wrap("cancel", err)
	}
	if err := tx.Commit(); err != nil {
		return done, wrap("cancel", err)
	}
	return CancelStep{Worked: true, Cancelled: int(found.moved)}, nil
}

func (q *Queue) takeCancellation(ctx context.Context, tx *sql.Tx) (cancellation, error) {
	statement := dueCancellation + moment(q.store, 1) + " ORDER BY due_at LIMIT 1"
	if !q.sqlite() {
		statement += " FOR UPDATE SKIP LOCKED"
	}
	var c cancellation
	err := tx.QueryRowContext(ctx, statement, q.store.Moment()).
		Scan(&c.id, &c.storeID, &c.webhookID, &c.position.retry, &c.position.due, &c.position.id, &c.found, &c.at)
	return c, err
}

// movePage moves what is cancelled among the next deliveries after the position.
func (q *Queue) movePage(ctx context.Context, tx *sql.Tx, c cancellation) (looked, error) {
	var found looked
	if !q.sqlite() {
		err := tx.QueryRowContext(ctx, cancelPostgres, q.store.Moment(), c.storeID, c.webhookID, c.position.retry, c.position.due, c.position.id, c.at).
			Scan(&found.rows, &found.cancelled, &found.moved, &found.last.retry, &found.last.due, &found.last.id)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return found, err
	}
	rows, err := tx.QueryContext(ctx, pageSQLite, q.store.Moment(), c.storeID, c.webhookID, c.position.retry, c.position.due, c.position.id)
	if err != nil {
		return found, err
	}
	var free []uuid.UUID
	err = each(rows, func() error {
		var isCancelled, isFree bool
		if err := rows.Scan(&found.last.id, &found.last.retry, &found.last.due, &isCancelled, &isFree); err != nil {
			return err
		}
		found.rows++
		if isCancelled {
			found.cancelled++
			if isFree {
				free = append(free, found.last.id)
			}
		}
		return nil
	})
	if err != nil || len(free) == 0 {
		return found, err
	}
	found.moved = int64(len(free))
	set, err := rowset(free)
	if err != nil {
		return found, err
	}
	if _, err := tx.ExecContext(ctx, copyCancelledSQLite, c.at, set); err != nil {
		return found, err
	}
	_, err = tx.ExecContext(ctx, deleteCancelledSQLite, set)
	return found, err
}

// moveOn notes how far a cancellation is; it ends with a lap that has met nothing. While something
// was under way there is another lap, and another one after what was moved, for what was added
// behind the position meanwhile.
func (q *Queue) moveOn(ctx context.Context, tx *sql.Tx, c cancellation, found looked) error {
	met := c.found + found.cancelled
	switch {
	case found.rows == cancelBatch:
		_, err := tx.ExecContext(ctx, "UPDATE cancellations SET position_retry = $1, position_due_at = $2, position_id = $3, found = $4 WHERE id = $5",
			found.last.retry, found.last.due, found.last.id, met, c.id)
		return err
	case met == 0:
		_, err := tx.ExecContext(ctx, "DELETE FROM cancellations WHERE id = $1", c.id)
		return err
	}
	later := "$1 + $2"
	if !q.sqlite() {
		later = present + " + $2::bigint * interval '1 millisecond'"
	}
	_, err := tx.ExecContext(ctx, "UPDATE cancellations SET position_retry = false, position_due_at = $3, position_id = $4, found = 0, due_at = "+later+
		" WHERE id = $5", q.store.Moment(), milliseconds(lapPause), time.Unix(0, 0).UTC(), uuid.Nil, c.id)
	return err
}
