package worker

import (
	"context"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/queue"
)

const resendInterval = 5 * time.Second

// resend continues unfinished resends, even one whose process still works on it.
func (w *Worker) resend(ctx context.Context) error {
	var due []uuid.UUID
	err := w.withLeaseTimeout(ctx, func(ctx context.Context) (err error) {
		due, err = queue.UnfinishedResends(ctx, w.config.DB, 10)
		return err
	})
	for _, id := range due {
		if err := w.resendOne(ctx, id); err != nil && ctx.Err() == nil {
			w.config.Logger.ErrorContext(ctx, "resend", "resend_id", id, "error", err)
		}
	}
	return err
}

func (w *Worker) resendOne(ctx context.Context, id uuid.UUID) error {
	for ctx.Err() == nil {
		var r queue.Resend
		err := w.withLeaseTimeout(ctx, func(ctx context.Context) (err error) {
			r, err = queue.StepResend(ctx, w.config.DB, id)
			return err
		})
		if err != nil || r.Finished {
			return err
		}
	}
	return nil
}
