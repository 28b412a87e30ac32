package queue

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

// attemptable is the condition on a delivery d and its webhook w for an attempt; see the package's comment.
const attemptable = `w.enabled AND w.epoch = d.epoch`

// Takes reports whether a delivery to the webhook may be attempted again: not if the webhook is
// disabled, or has been since the delivery was made.
func (h Health) Takes(d Delivery) bool { return h.Enabled && d.Epoch == h.epoch }

// Cancel cancels all deliveries to a webhook except those that a worker is attempting, and ends the resends to
// it. It takes effect with the commit and takes the same time however many wait; workers move them to the
// journal later. The caller has locked the webhook's row and disables or deletes it in this transaction.
//
// A worker that is making an attempt finishes it. A relay that read the webhook before adds deliveries of the old
// epoch, which are cancelled too.
func Cancel(ctx context.Context, tx *ent.Tx, storeID, webhookID uuid.UUID) error {
	if _, err := tx.ExecContext(ctx, "UPDATE webhooks SET epoch = epoch + 1 WHERE store_id = $1 AND id = $2", storeID,
		webhookID); err != nil {
		return fmt.Errorf("begin a new epoch: %w", err)
	}
	_, err := tx.ExecContext(ctx, "UPDATE resends SET finished_at = $1, stopped = true WHERE store_id = $2 AND webhook_id = $3 "+
		"AND finished_at IS NULL",
		hook.Time(ctx), storeID, webhookID)
	return wrap("end its resends", err)
}

// cancelBatch is how many deliveries one MoveCancelled moves. Its transaction then takes no longer than a request.
const cancelBatch = 400

// CancelledDeliveries are the deliveries that one epoch of a webhook left waiting when it ended.
type CancelledDeliveries struct {
	StoreID, WebhookID uuid.UUID
	Epoch              int64
}

// FindCancelled returns which cancelled deliveries are still to be moved to the journal.
func (q *Queue) FindCancelled(ctx context.Context) (found []CancelledDeliveries, err error) {
	for row := range db.Rows(ctx, q.db.Reader(), q.dialect.statements["cancelled"]) {
		var c CancelledDeliveries
		if err := row.Scan(&c.StoreID, &c.WebhookID, &c.Epoch); err != nil {
			return nil, wrap("look for cancelled deliveries", err)
		}
		found = append(found, c)
	}
	return found, nil
}

// MoveCancelled moves some of the cancelled deliveries to the journal, but none under a lease, and returns how
// many, and whether there may be more.
func (q *Queue) MoveCancelled(ctx context.Context, c CancelledDeliveries) (moved int, more bool, err error) {
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		n, err := q.dialect.exec(ctx, tx, "cancel", q.db.Moment(), c.StoreID, c.WebhookID, c.Epoch, cancelBatch)
		moved = int(n)
		return err
	})
	return moved, moved == cancelBatch, wrap("cancel", err)
}
