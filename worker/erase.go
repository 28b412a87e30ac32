package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/erase"
)

const (
	// eraseInterval is how often a worker looks for customers to forget and stores to delete.
	eraseInterval = 5 * time.Second
	// longestLogPause is the longest pause between two attempts to empty SQLite's write-ahead log. The pauses double while a
	// reader keeps the log from being emptied.
	longestLogPause = time.Minute
)

// erase continues the erasures of customers and deletes the stores that are due for deletion. It continues an erasure even
// while the process that began the erasure still works on it. If one erasure or deletion fails, erase goes on with the
// others, and tries a failed erasure again after a pause that grows.
func (w *Worker) erase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.sweepTimeout) // if the time is over, the next call of erase continues
	defer cancel()
	forgettings, err := erase.Unfinished(ctx, w.config.DB)
	if err != nil {
		return err
	}
	for _, f := range forgettings {
		if err := erase.Continue(ctx, w.config.DB, f); err != nil && ctx.Err() == nil {
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

// emptyLog tries to empty SQLite's write-ahead log, again and again until the context ends, because receipts of erasures
// wait until the log is empty.
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
