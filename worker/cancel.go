package worker

import (
	"context"
	"time"
)

const (
	// cancelInterval is how often a worker looks for cancellations. Nobody waits for it: what is
	// cancelled is shown as that and not attempted before.
	cancelInterval = time.Second
	// missedInterval is how often it looks for what no cancellation is on.
	missedInterval = 10 * time.Second
	// cancelRest is the least time between two steps, and cancelShare the share of a step's own time
	// that is: whoever else writes has the database for most of the time.
	cancelRest  = 10 * time.Millisecond
	cancelShare = 1
)

// cancel moves what waits for webhooks that were disabled or deleted to the journal.
func (w *Worker) cancel(ctx context.Context) error {
	var looked time.Time
	for {
		if time.Since(looked) >= missedInterval {
			looked = time.Now()
			if _, err := w.queue.FindMissed(ctx); err != nil && ctx.Err() == nil {
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
			rest = max(cancelRest, cancelShare*time.Since(start))
		}
		if !pause(ctx, rest) {
			return nil
		}
	}
}

// cancelOnce does one step of a cancellation and tells whether there was one.
func (w *Worker) cancelOnce(ctx context.Context) (bool, error) {
	start := time.Now()
	step, err := w.queue.StepCancellation(ctx)
	if err != nil || !step.Worked {
		return false, err
	}
	w.tells.took(opCancel, start)
	w.tells.cancelled(step.Cancelled)
	return true, nil
}
