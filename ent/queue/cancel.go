package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

// A webhook counts epochs: disabling it begins a new one. A delivery carries the epoch in which it
// was made, and once that is over it is cancelled for whoever looks, however many there are and
// before anybody has touched its row. What is left to do is to move the rows to the journal:
//
//	Cancel: a new epoch, and an order in cancellations ──► StepCancellation, again and again ──► no order
//	                                                          a few hundred rows a transaction
//
// Nobody attempts a cancelled delivery meanwhile: Claim takes nothing of a webhook that is disabled
// or gone, and of one that was enabled again only what is due since its epoch began. Nothing of an
// epoch is due before the epoch's beginning, so what is fresh is not behind what is cancelled.
//
// An attempt under way at that moment is left to its worker. When the worker has died, its
// delivery is cancelled when the lease ends. What a relay adds that had read the webhook before is
// of the old epoch and so cancelled too: the laps of StepCancellation or FindMissed find it.

// current is the condition on a delivery d and its webhook w for it to be attempted. 0 is the
// epoch of what a release without epochs has added: it goes by the time at which it was made.
const current = `w.enabled AND (d.epoch = w.epoch OR d.epoch = 0 AND COALESCE(d.created_at > w.epoch_since, true))`

// Takes reports whether a delivery to the webhook may be attempted again: it is not when the webhook
// is disabled, or was since the delivery was made.
func (h Health) Takes(d Delivery) bool {
	return h.Enabled && (d.Epoch == h.epoch || d.Epoch == 0 && (h.since.IsZero() || d.CreatedAt.After(h.since)))
}

// Cancel cancels what waits for a webhook: everything that no worker makes an attempt of just now,
// what its worker has died with included. It takes effect with the commit and is quick whatever
// waits; workers move the deliveries to the journal later. Resends to the webhook end. The caller
// has taken the webhook's row for this transaction and disables or deletes it.
func Cancel(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID) error {
	_, err := tx.ExecContext(ctx, "UPDATE webhooks SET epoch = epoch + 1, epoch_since = "+dialectOf(s).present(1)+" WHERE store_id = $2 AND id = $3",
		s.Moment(), storeID, webhookID)
	if err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	now := hook.Time(ctx)
	if _, err := tx.ExecContext(ctx, orderCancellation(s), order(s, storeID, webhookID, now, nil)...); err != nil {
		return fmt.Errorf("order the cancellation: %w", err)
	}
	_, err = tx.ExecContext(ctx, "UPDATE resends SET finished_at = $1, stopped = true WHERE store_id = $2 AND webhook_id = $3 AND finished_at IS NULL",
		now, storeID, webhookID)
	if err != nil {
		return fmt.Errorf("end its resends: %w", err)
	}
	return nil
}

// orderCancellation inserts an order for what is of an earlier epoch than the given one, or when
// there is none, than the webhook's; a deleted webhook's deliveries are all of an earlier one.
func orderCancellation(s *db.DB) string {
	return `INSERT INTO cancellations (id, store_id, webhook_id, epoch, position_due_at, position_id, due_at, created_at)
 VALUES ($2, $3, $4, COALESCE(CAST($7 AS bigint), (SELECT epoch FROM webhooks WHERE store_id = $3 AND id = $4), $8), $5, $6, ` + dialectOf(s).present(1) + `, $9)
 ON CONFLICT DO NOTHING`
}

// order are the arguments of orderCancellation.
func order(s *db.DB, storeID, webhookID uuid.UUID, now time.Time, epoch any) []any {
	return []any{s.Moment(), id.At(now), storeID, webhookID, time.Unix(0, 0).UTC(), uuid.Nil, epoch, int64(math.MaxInt64), now}
}

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

// StepCancellation does the next step of the longest due cancellation, in a transaction of its own: it
// moves cancelled deliveries, a batch at most, to the journal, and the position on. A lap that
// meets none ends the cancellation. Several workers take turns; one that dies leaves nothing undone.
func (q *Queue) StepCancellation(ctx context.Context) (CancelStep, error) {
	// On SQLite beginning to write makes others wait.
	var due bool
	err := q.store.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cancellations WHERE due_at <= "+q.dialect.present(1)+")", q.store.Moment()).Scan(&due)
	if err != nil || !due {
		return CancelStep{}, wrap("look for cancellations", err)
	}
	var done CancelStep
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		job, err := q.takeCancellation(ctx, tx)
		if err != nil {
			return err
		}
		found, err := q.dialect.movePage(ctx, tx, q.store.Moment(), job)
		if err != nil {
			return err
		}
		done = CancelStep{Worked: true, Cancelled: int(found.moved)}
		return q.moveOn(ctx, tx, job, found)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return CancelStep{}, nil
	}
	if err != nil {
		return CancelStep{}, wrap("cancel", err)
	}
	return done, nil
}

func (q *Queue) takeCancellation(ctx context.Context, tx *sql.Tx) (c cancellation, err error) {
	err = tx.QueryRowContext(ctx, dueCancellation+q.dialect.present(1)+" ORDER BY due_at LIMIT 1"+q.dialect.skipLocked, q.store.Moment()).
		Scan(&c.id, &c.storeID, &c.webhookID, &c.position.retry, &c.position.due, &c.position.id, &c.found, &c.at)
	return c, err
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
	_, err := tx.ExecContext(ctx, "UPDATE cancellations SET position_retry = false, position_due_at = $3, position_id = $4, found = 0, due_at = "+q.dialect.later+
		" WHERE id = $5", q.store.Moment(), lapPause.Milliseconds(), time.Unix(0, 0).UTC(), uuid.Nil, c.id)
	return err
}

// andMissed ends the statement that reads the first delivery of each lane, which it finds by leaping
// from lane to lane along their index. Of a webhook that was enabled again, what is cancelled and was
// missed is the first of its lane, or it became due since: then it is claimed, and cancelled by
// whoever claimed it.
const andMissed = `
 AND (SELECT 1 FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + ` LIMIT 1) IS NULL
 AND (SELECT 1 FROM cancellations c WHERE c.store_id = d.store_id AND c.webhook_id = d.webhook_id LIMIT 1) IS NULL`

// FindMissed orders a cancellation for each webhook for which cancelled deliveries wait and that
// has none: a relay that had read the webhook before it was disabled added them after the last lap,
// or a release without cancellations disabled it. It returns how many it ordered, and is safe
// from several processes at once.
func (q *Queue) FindMissed(ctx context.Context) (int, error) {
	rows, err := q.store.Reader().QueryContext(ctx, q.dialect.missed, q.store.Moment())
	type webhook struct{ store, id uuid.UUID }
	epochs := map[webhook]int64{}
	err = each(rows, err, func() error {
		var (
			w     webhook
			epoch int64
		)
		err := rows.Scan(&w.store, &w.id, &epoch)
		epochs[w] = max(epochs[w], epoch+1)
		return err
	})
	if err != nil {
		return 0, wrap("look for missed cancellations", err)
	}
	ordered := 0
	for w, epoch := range epochs {
		n, err := affected(q.store.Writer().ExecContext(ctx, orderCancellation(q.store), order(q.store, w.store, w.id, q.store.Now(), epoch)...))
		if err != nil {
			return ordered, wrap("order a missed cancellation", err)
		}
		ordered += int(n)
	}
	return ordered, nil
}
