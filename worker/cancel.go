package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/queue"
)

const (
	// cancelInterval is how often a worker looks for cancellations. Nothing waits for it: a cancelled
	// delivery is shown as such, and not attempted, also before it is moved.
	cancelInterval = time.Second
	// missedInterval is how often it looks for waiting deliveries that no cancellation covers.
	missedInterval = 10 * time.Second
	// cancelRest is the shortest pause between two steps. A step that took longer is followed by a pause as
	// long as itself, so that other writers have the database for half of the time at least.
	cancelRest = 10 * time.Millisecond
)

// cancel moves the waiting deliveries of disabled or deleted webhooks to the journal.
func (w *Worker) cancel(ctx context.Context) {
	var looked time.Time
	for {
		if time.Since(looked) >= missedInterval {
			looked = time.Now()
			err := w.within(ctx, func(ctx context.Context) error {
				_, err := w.queue.OrderMissedCancellations(ctx)
				return err
			})
			if err != nil && ctx.Err() == nil {
				w.config.Logger.ErrorContext(ctx, "look for missed cancellations", "error", err)
			}
		}
		start := time.Now()
		worked, err := w.cancelOnce(ctx)
		rest := cancelInterval
		switch {
		case err != nil && ctx.Err() == nil:
			w.config.Logger.ErrorContext(ctx, "cancel deliveries", "error", err)
		case worked:
			rest = max(cancelRest, time.Since(start))
		}
		if !pause(ctx, rest) {
			return
		}
	}
}

// cancelOnce does one step of a cancellation and reports whether there was one.
func (w *Worker) cancelOnce(ctx context.Context) (bool, error) {
	start := time.Now()
	var step queue.CancelStep
	err := w.within(ctx, func(ctx context.Context) (err error) {
		step, err = w.queue.StepCancellation(ctx)
		return err
	})
	if err != nil || !step.Worked {
		return false, err
	}
	w.metrics.took(opCancel, start)
	w.metrics.cancelled(step.Cancelled)
	return true, nil
}
