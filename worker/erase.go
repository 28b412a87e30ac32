package worker

import (
	"context"
	"time"

	"go.storefront.example/ent/erase"
)

const (
	eraseInterval = 5 * time.Second
	// longestLogPause bounds the pauses between attempts to empty SQLite's write-ahead log, which double while a reader keeps
	// it.
	longestLogPause = time.Minute
)

// erase continues erasures, even one whose process still works on it, and deletes stores that are due. A failure does not stop
// the others, and is tried again after a growing pause.
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

// emptyLog tries again until the context ends, because receipts of erasures wait until SQLite's log is empty.
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
