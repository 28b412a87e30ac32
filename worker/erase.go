package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/erase"
)

const (
	// eraseInterval is how often a worker looks for customers to forget and stores to delete.
	eraseInterval = 5 * time.Second
	// maxWaits bounds how often in a row a step of a forgetting may have to wait before others have their turn.
	maxWaits = 4
	// longestLogPause bounds the pauses between attempts to empty SQLite's log, which double while a reader keeps it.
	longestLogPause = time.Minute
)

// erase goes on with forgetting customers, beside the process that ordered each, and deletes the stores whose time has come.
// A failure is logged, and stops none of the others: a forgetting that failed is tried again after a pause, which grows.
func (w *Worker) erase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.sweepTimeout) // the next time goes on
	defer cancel()
	forgettings, err := erase.Unfinished(ctx, w.config.DB)
	if err != nil {
		return err
	}
	for _, f := range forgettings {
		if err := w.forget(ctx, f); err != nil && ctx.Err() == nil {
			w.config.Logger.ErrorContext(ctx, "forget a customer", "customer_id", f.CustomerID, "error", err)
			if err := erase.Postpone(ctx, w.config.DB, f); err != nil {
				return err
			}
		}
	}
	stores, err := erase.DueStores(ctx, w.config.DB)
	for _, id := range stores {
		start := time.Now()
		err := erase.Store(ctx, w.config.DB, id)
		if err != nil && ctx.Err() == nil {
			w.config.Logger.ErrorContext(ctx, "delete a store", "store_id", id, "error", err)
		} else if err == nil {
			w.config.Logger.InfoContext(ctx, "store deleted", "store_id", id, "duration_ms", inMilliseconds(time.Since(start)))
		}
	}
	return err
}

// forget does what is left of forgetting a customer, or a part of it if its steps have to wait.
func (w *Worker) forget(ctx context.Context, f erase.Forgetting) error {
	for waits := 0; f.FinishedAt == nil && waits < maxWaits; {
		next, err := erase.Step(ctx, w.config.DB, f.StoreID, f.CustomerID)
		if err != nil {
			return err
		}
		if waits++; next.Pass != f.Pass || next.PositionID != f.PositionID {
			waits = 0
		}
		f = next
	}
	return nil
}

// emptyLog empties SQLite's log for the receipts that wait for it, until the context ends.
func (w *Worker) emptyLog(ctx context.Context) {
	for next := eraseInterval; pause(ctx, next); {
		waiting, err := erase.EmptyLog(ctx, w.config.DB)
		if err != nil && ctx.Err() == nil {
			w.config.Logger.ErrorContext(ctx, "empty the write-ahead log", "error", err)
		}
		if next = min(2*next, longestLogPause); !waiting {
			next = eraseInterval
		}
	}
}
