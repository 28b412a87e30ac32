package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/queue"
)

const (
	// cancelInterval may be long: the journal already shows a delivery as cancelled, and no worker attempts it.
	cancelInterval = 2 * time.Second
	// minCancelPause is the pause between two steps, or as long as the step took, so that other writers have the database half
	// of the time.
	minCancelPause = 10 * time.Millisecond
)

// cancel moves the waiting deliveries of disabled or deleted webhooks, some of each in turn, so that one with many does not
// delay the others.
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
