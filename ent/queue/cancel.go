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

// Each webhook has an epoch, a number that grows when it is disabled. A delivery stores the epoch in
// which it was made; once the webhook's is higher, every reader treats the delivery as cancelled. So one
// change of the webhook's row cancels any number of deliveries at once. Workers then move their rows to
// the journal:
//
//	Cancel: a new epoch, and an order in cancellations ──► StepCancellation, again and again ──► no order
//	                                                          a few hundred rows a transaction
//
// Until then no worker attempts them: Claim leases nothing of a webhook that is disabled or deleted, and
// of one that was enabled again only what became due since its epoch began. No delivery is due before its
// epoch begins, so new deliveries do not wait behind cancelled ones.
//
// A worker that is making an attempt when the webhook is disabled finishes it. If that worker dies, the
// delivery is cancelled when its lease ends. A relay that read the webhook before adds deliveries of the
// old epoch, which are cancelled too: later laps of StepCancellation, or OrderMissedCancellations, find them.

// current is the condition on a delivery d and its webhook w for an attempt.
const current = `w.enabled AND d.epoch = w.epoch`

// Takes reports whether a delivery to the webhook may be attempted again: not if the webhook is
// disabled, or has been since the delivery was made.
func (h Health) Takes(d Delivery) bool {
	return h.Enabled && d.Epoch == h.epoch
}

// Cancel cancels all deliveries to a webhook except those that a worker is attempting. It takes effect
// with the commit and takes the same time however many wait; workers move them to the journal later.
// Resends to the webhook end. The caller has locked the webhook's row and disables or deletes it in this
// transaction.
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

// orderCancellation inserts an order to move deliveries of earlier epochs than the given one or, if that
// is null, than the webhook's. All deliveries of a deleted webhook are of earlier ones.
func orderCancellation(s *db.DB) string {
	return `INSERT INTO cancellations (id, store_id, webhook_id, epoch, position_due_at, position_id, due_at, created_at)
 VALUES ($2, $3, $4, COALESCE(CAST($7 AS bigint), (SELECT epoch FROM webhooks WHERE store_id = $3 AND id = $4), $8), $5, $6, ` + dialectOf(s).present(1) + `, $9)
 ON CONFLICT DO NOTHING`
}

// order returns the arguments of orderCancellation.
func order(s *db.DB, storeID, webhookID uuid.UUID, now time.Time, epoch any) []any {
	return []any{s.Moment(), id.At(now), storeID, webhookID, time.Unix(0, 0).UTC(), uuid.Nil, epoch, int64(math.MaxInt64), now}
}

const (
	// cancelBatch is how many deliveries one step of a cancellation reads. Its transaction then takes
	// no longer than a request.
	cancelBatch = 400
	// lapPause is the pause between two laps of a cancellation through the deliveries of its webhook.
	lapPause = time.Second
)

// CancelStep is what one step of a cancellation did.
type CancelStep struct {
	// Worked is false when no cancellation is due, or other workers work on all that are.
	Worked bool
	// Cancelled is how many deliveries it moved to the journal.
	Cancelled int
}

// cancellation is an order as a step reads it.
type cancellation struct {
	id, storeID, webhookID uuid.UUID
	position               position
	// found is how many cancelled deliveries this lap has read so far.
	found int64
	at    time.Time
}

// position is a place in the order of what waits for a webhook.
type position struct {
	retry bool
	due   time.Time
	id    uuid.UUID
}

// looked is what a step has read after its position.
type looked struct {
	// rows is how many deliveries it read, cancelled how many of them are cancelled, and moved how many
	// of those it moved. The others have a lease or are locked.
	rows, cancelled, moved int64
	last                   position
}

const dueCancellation = `SELECT id, store_id, webhook_id, position_retry, position_due_at, position_id, found, created_at FROM cancellations
 WHERE due_at <= `

// cancelledAt is when the cancelled delivery d was cancelled: at the first order after its epoch.
const cancelledAt = `(SELECT c.created_at FROM cancellations c WHERE c.store_id = d.store_id AND c.webhook_id = d.webhook_id AND c.epoch > d.epoch ORDER BY c.epoch LIMIT 1)`

// StepCancellation makes a step of the cancellation that has been due longest, in a transaction of its
// own: it moves at most cancelBatch deliveries to the journal and stores its position. A lap that finds no
// cancelled delivery ends the cancellation. Any worker can make the next step, also after one died.
func (q *Queue) StepCancellation(ctx context.Context) (CancelStep, error) {
	// Looking first costs a read; on SQLite a transaction that writes makes others wait.
	var due bool
	err := q.db.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cancellations WHERE due_at <= "+q.dialect.present(1)+")", q.db.Moment()).Scan(&due)
	if err != nil || !due {
		return CancelStep{}, wrap("look for cancellations", err)
	}
	var done CancelStep
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		job, err := q.takeCancellation(ctx, tx)
		if err != nil {
			return err
		}
		found, err := q.dialect.movePage(ctx, tx, q.db.Moment(), job)
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
	err = tx.QueryRowContext(ctx, dueCancellation+q.dialect.present(1)+" ORDER BY due_at LIMIT 1"+q.dialect.skipLocked, q.db.Moment()).
		Scan(&c.id, &c.storeID, &c.webhookID, &c.position.retry, &c.position.due, &c.position.id, &c.found, &c.at)
	return c, err
}

// moveOn stores the position of a cancellation, and puts it behind the others that are due: a large one
// delays none of them. At the end of a lap that has read cancelled deliveries, moved or not, the next lap
// begins: some had a lease, or were added before the position. A lap that has read none ends the
// cancellation.
func (q *Queue) moveOn(ctx context.Context, tx *sql.Tx, c cancellation, found looked) error {
	met := c.found + found.cancelled
	switch {
	case found.rows == cancelBatch:
		_, err := tx.ExecContext(ctx, "UPDATE cancellations SET due_at = "+q.dialect.present(1)+
			", position_retry = $2, position_due_at = $3, position_id = $4, found = $5 WHERE id = $6",
			q.db.Moment(), found.last.retry, found.last.due, found.last.id, met, c.id)
		return err
	case met == 0:
		_, err := tx.ExecContext(ctx, "DELETE FROM cancellations WHERE id = $1", c.id)
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE cancellations SET position_retry = false, position_due_at = $3, position_id = $4, found = 0, due_at = "+q.dialect.later+
		" WHERE id = $5", q.db.Moment(), lapPause.Milliseconds(), time.Unix(0, 0).UTC(), uuid.Nil, c.id)
	return err
}

// andMissed ends the statement that reads the first delivery of each lane, jumping from lane to lane
// along their index. It keeps those that are cancelled and have no order. The first is enough: if the
// webhook was enabled again, a missed delivery is either the first of its lane, or it became due since;
// then a worker claims it and cancels it.
const andMissed = `
 AND (SELECT 1 FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + ` LIMIT 1) IS NULL
 AND (SELECT 1 FROM cancellations c WHERE c.store_id = d.store_id AND c.webhook_id = d.webhook_id LIMIT 1) IS NULL`

// OrderMissedCancellations orders a cancellation for each webhook that has cancelled deliveries and no order. That
// happens when a relay had read the webhook before it was disabled and added them after the last lap. It
// returns how many it ordered. Several processes may call it at once.
func (q *Queue) OrderMissedCancellations(ctx context.Context) (int, error) {
	type webhook struct{ store, id uuid.UUID }
	epochs := map[webhook]int64{}
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.missed, q.db.Moment()) {
		var (
			w     webhook
			epoch int64
		)
		if err := row.Scan(&w.store, &w.id, &epoch); err != nil {
			return 0, wrap("look for missed cancellations", err)
		}
		epochs[w] = max(epochs[w], epoch+1)
	}
	ordered := 0
	for w, epoch := range epochs {
		n, err := affected(q.db.Writer().ExecContext(ctx, orderCancellation(q.db), order(q.db, w.store, w.id, q.db.Now(), epoch)...))
		if err != nil {
			return ordered, wrap("order a missed cancellation", err)
		}
		ordered += int(n)
	}
	return ordered, nil
}
