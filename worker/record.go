package worker

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/usage"
)

const recordBatch = 200

// record writes all results that are in the channel as one batch, until it is closed. So batches grow with the load, and record
// never waits until one is full.
func (w *Worker) record(ctx context.Context) {
	for first := range w.results {
		batch := append(make([]endedLease, 0, recordBatch), first)
		for more := true; more && len(batch) < recordBatch; {
			select {
			case r, open := <-w.results:
				if more = open; open {
					batch = append(batch, r)
				}
			default:
				more = false
			}
		}
		w.write(ctx, batch)
		w.written <- batch
	}
}

// write tries again while the database is unavailable, but drops a result whose lease has ended: another worker may have the
// delivery.
func (w *Worker) write(ctx context.Context, batch []endedLease) {
	for {
		err := w.withLeaseTimeout(ctx, func(ctx context.Context) error { return w.writeOnce(ctx, batch) })
		if err == nil {
			return
		}
		w.config.Logger.ErrorContext(ctx, "write outcomes down", "outcomes", len(batch), "error", err)
		live := batch[:0:0]
		for _, r := range batch {
			if time.Since(r.leased) < w.leaseDuration() {
				live = append(live, r)
			}
		}
		w.lost(ctx, len(batch)-len(live))
		if batch = live; len(batch) == 0 || !pause(ctx, errorPause) {
			return
		}
	}
}

// lost counts outcomes whose leases have ended, or whose delivery another worker has.
func (w *Worker) lost(ctx context.Context, n int) {
	if n == 0 {
		return
	}
	w.metrics.lost.Add(float64(n))
	w.config.Logger.WarnContext(ctx, "leases were lost before the outcome was written", "deliveries", n)
}

func (w *Worker) writeOnce(ctx context.Context, batch []endedLease) error {
	var (
		released []queue.Delivery
		outcomes []queue.Outcome
		failing  []uuid.UUID
	)
	// Finish takes outcomes in the order in which their attempts ended.
	slices.SortStableFunc(batch, func(a, b endedLease) int { return a.ended.Compare(b.ended) })
	for _, r := range batch {
		if r.released {
			released = append(released, r.outcome.Delivery)
			continue
		}
		outcomes = append(outcomes, r.outcome)
		if r.outcome.Attempt != nil && !r.outcome.Attempt.Succeeded() {
			failing = append(failing, r.outcome.Delivery.WebhookID)
		}
	}
	if err := w.queue.Release(ctx, released); err != nil {
		return err
	}
	exhausted, err := w.applyWebhookState(ctx, outcomes, failing)
	if err != nil {
		return err
	}
	if len(outcomes) > 0 {
		start := time.Now()
		lost, err := w.queue.Finish(ctx, outcomes)
		if err != nil {
			return err
		}
		w.metrics.observe(opFinish, start)
		w.metrics.ended(outcomes, lost)
		w.count(outcomes)
		w.lost(ctx, lost)
	}
	w.disable(ctx, exhausted)
	return nil
}

// disable disables webhooks, given with their stores. It only logs an error: the outcomes are written, and the webhook's next
// failure tries again.
func (w *Worker) disable(ctx context.Context, exhausted map[uuid.UUID]uuid.UUID) {
	for webhook, store := range exhausted {
		switch disabled, err := w.queue.Disable(ctx, store, webhook, w.config.DisableAfter); {
		case err != nil:
			w.config.Logger.ErrorContext(ctx, "disable a webhook", "webhook_id", webhook, "error", err)
		case disabled:
			w.metrics.disabled.Inc()
			w.config.Logger.WarnContext(ctx, "webhook disabled: it failed for too long", "webhook_id", webhook, "store_id", store)
		}
	}
}

func (w *Worker) count(outcomes []queue.Outcome) {
	for _, o := range outcomes {
		if a := o.Attempt; a != nil {
			w.usage.Count(o.Delivery.StoreID, o.Delivery.WebhookID, a.StartedAt, usage.Hour, a.Succeeded(), a.Duration)
		}
	}
}

// applyWebhookState cancels failed deliveries whose webhook was disabled or deleted since they were created. It returns the
// webhooks to disable, with their stores, and leaves their deliveries pending, because w.disable cancels them.
func (w *Worker) applyWebhookState(ctx context.Context, outcomes []queue.Outcome, failing []uuid.UUID) (map[uuid.UUID]uuid.UUID,
	error) {
	if len(failing) == 0 {
		return nil, nil
	}
	states, err := w.queue.WebhookStates(ctx, failing, w.config.DisableAfter)
	if err != nil {
		return nil, err
	}
	exhausted := map[uuid.UUID]uuid.UUID{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Attempt == nil || o.Attempt.Succeeded() {
			continue
		}
		switch state := states[o.Delivery.WebhookID]; {
		case !state.Accepts(o.Delivery):
			o.Status = queue.Cancelled
		case state.FailedTooLong && o.CountsAsFailure && o.Delivery.StoreID != notice.NoStore:
			// w.disable cancels all pending deliveries. If the webhook stays enabled, because an attempt succeeded or disabling
			// failed, this one gets its next attempt; w.attempt ends one that has had all.
			if o.Status != queue.Pending {
				o.Status, o.Delay = queue.Pending, w.leaseDuration()
			}
			exhausted[o.Delivery.WebhookID] = o.Delivery.StoreID
		}
	}
	return exhausted, nil
}
