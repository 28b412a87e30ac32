package worker

import (
	"context"
	"errors"
	"time"

	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
)

const (
	sweepInterval = 10 * time.Minute
	// noticeInterval is for notices that depend on the time, such as those about keys that expire.
	noticeInterval = 5 * time.Minute
	// sweepTimeout also limits the writing of notices, because a vanished server may never answer. The next sweep continues.
	sweepTimeout = time.Hour
)

func (w *Worker) notice(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, w.sweepTimeout)
	defer cancel()
	return notice.Sweep(limited, w.config.DB)
}

func (w *Worker) sweep(ctx context.Context) error {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, w.sweepTimeout)
	defer cancel()
	rows, err := w.queue.Sweep(limited, w.config.Retention)
	switch {
	case errors.Is(err, queue.ErrHeld):
		w.config.Logger.DebugContext(ctx, "nothing swept", "reason", err) // normal for a day, if no sweep ran on the day before
	case err != nil:
		return err
	case rows > 0:
		w.config.Logger.InfoContext(ctx, "swept", "rows", rows, "duration_ms", inMilliseconds(time.Since(start)))
	}
	return nil
}
