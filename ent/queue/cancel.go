package queue

import (
	"context"
	"fmt"
	"math"
	"time"

	"entgo.io/ent/dialect"
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

// Takes tells whether a delivery to the webhook may be attempted again: it is not when the webhook
// is disabled, or was since the delivery was made.
func (h Health) Takes(d Delivery) bool {
	return h.Enabled && (d.Epoch == h.epoch || d.Epoch == 0 && (h.since.IsZero() || d.CreatedAt.After(h.since)))
}

// Cancel cancels what waits for a webhook: everything that no worker makes an attempt of just now,
// what its worker has died with included. It takes effect with the commit and is quick whatever
// waits; workers move the deliveries to the journal later. Resends to the webhook end. The caller
// has taken the webhook's row for this transaction and disables or deletes it.
func Cancel(ctx context.Context, tx *ent.Tx, s *db.DB, storeID, webhookID uuid.UUID) error {
	_, err := tx.ExecContext(ctx, "UPDATE webhooks SET epoch = epoch + 1, epoch_since = "+moment(s, 1)+" WHERE store_id = $2 AND id = $3",
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
	epoch := "$7"
	if s.Dialect() == dialect.Postgres {
		epoch = "$7::bigint"
	}
	return `INSERT INTO cancellations (id, store_id, webhook_id, epoch, position_due_at, position_id, due_at, created_at)
 VALUES ($2, $3, $4, COALESCE(` + epoch + `, (SELECT epoch FROM webhooks WHERE store_id = $3 AND id = $4), $8), $5, $6, ` + moment(s, 1) + `, $9)
 ON CONFLICT DO NOTHING`
}

// order are the arguments of orderCancellation.
func order(s *db.DB, storeID, webhookID uuid.UUID, now time.Time, epoch any) []any {
	return []any{s.Moment(), id.At(now), storeID, webhookID, time.Unix(0, 0).UTC(), uuid.Nil, epoch, int64(math.MaxInt64), now}
}
