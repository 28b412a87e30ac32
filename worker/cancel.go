package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/queue"
)

const (
	// cancelInterval is how often a worker looks for cancelled deliveries. It may be long: before a delivery is moved, the
	// journal already shows it as cancelled, and no worker attempts it.
	cancelInterval = 2 * time.Second
	// minCancelPause is the shortest pause between two steps. After a longer step the worker pauses as long as the step took, so
	// that other writers have the database at least half of the time.
	minCancelPause = 10 * time.Millisecond
)

// cancel moves the waiting deliveries of disabled or deleted webhooks to finished_deliveries. It moves some deliveries of each
// webhook in turn, so that a webhook with many deliveries does not delay the others.
func (w *Worker) cancel(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var found []queue.CancelledDeliveries
		err := w.withLeaseTimeout(ctx, func(ctx context.Context) (err error) {
			found, err = w.queue.FindCancelled(ctx)
			return err
		})
		if err != nil {
			return err
		}
		more = false
		for _, cancelled := range found {
			start := time.Now()
			moved := 0
			err := w.withLeaseTimeout(ctx, func(ctx context.Context) (err error) {
				var left bool
				moved, left, err = w.queue.MoveCancelled(ctx, cancelled)
				more = more || left
				return err
			})
			if err != nil {
				return err
			}
			if moved > 0 {
				w.metrics.observe(opCancel, start)
				w.metrics.cancelled(moved)
			}
			if !pause(ctx, max(minCancelPause, time.Since(start))) {
				return nil
			}
		}
	}
	return nil
}
