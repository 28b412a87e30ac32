package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/queue"
)

const (
	// cancelInterval is how often a worker looks for cancelled deliveries. Nothing waits for it: a cancelled
	// delivery is shown as such, and not attempted, also before it is moved.
	cancelInterval = 2 * time.Second
	// cancelRest is the shortest pause between two steps. A step that took longer is followed by a pause as
	// long as itself, so that other writers have the database for half of the time at least.
	cancelRest = 10 * time.Millisecond
)

// cancel moves the waiting deliveries of disabled or deleted webhooks to the finished ones, some of each webhook in turn: a large
// one delays none of the others.
func (w *Worker) cancel(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		var found []queue.CancelledDeliveries
		err := w.within(ctx, func(ctx context.Context) (err error) {
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
			err := w.within(ctx, func(ctx context.Context) (err error) {
				var left bool
				moved, left, err = w.queue.MoveCancelled(ctx, cancelled)
				more = more || left
				return err
			})
			if err != nil {
				return err
			}
			if moved > 0 {
				w.metrics.took(opCancel, start)
				w.metrics.cancelled(moved)
			}
			if !pause(ctx, max(cancelRest, time.Since(start))) {
				return nil
			}
		}
	}
	return nil
}
