package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

// pingType is the test button's event. Webhooks cannot subscribe to it.
const pingType = "ping"

// receiverState is what an attempt shows about its receiver: an answer with 2xx, any other result, or nothing.
type receiverState int

const (
	receiverUnknown receiverState = iota // nothing was sent, or the worker stopped before an answer
	receiverSucceeded
	receiverFailed
)

// endedLease is the result of a lease, with or without an attempt.
type endedLease struct {
	outcome  queue.Outcome
	receiver receiverState
	// released is true if the worker stopped before the attempt ended, or the lease was over before it began. The delivery can
	// be leased again.
	released bool
	// leased and ended are by this process's clock: the lease's beginning, and the attempt's end, which is zero if nothing was
	// sent.
	leased, ended time.Time
}

func (w *Worker) deliver(ctx context.Context, d queue.Delivery, leased time.Time) {
	w.metrics.running.Inc()
	r := w.attempt(ctx, d, leased)
	w.metrics.running.Dec() // before the result is sent, so that whoever receives it finds the lower count
	w.results <- r
}

// attempt returns no error: a failure is an outcome like any other.
func (w *Worker) attempt(ctx context.Context, d queue.Delivery, leased time.Time) endedLease {
	r := endedLease{outcome: queue.Outcome{Delivery: d, Status: queue.Pending}, leased: leased}
	if time.Since(leased) >= w.leaseDuration() {
		// The database took longer to grant the lease than it lasts, for example because a commit waited for a standby. Another
		// worker may have the delivery.
		r.released = true
		return r
	}
	earlier, err := queue.Attempts(d.Attempts)
	number := len(earlier) + 1
	switch {
	case err != nil:
		w.config.Logger.ErrorContext(ctx, "a delivery's attempts cannot be read", "delivery_id", d.ID, "error", err)
		// Stored, the unreadable attempts would break lists and fail the whole batch of outcomes.
		r.outcome.Delivery.Attempts = []byte("[]")
		r.outcome.Status = queue.Failed
		return r
	case d.Payload == nil, string(d.Payload) == hook.Forgotten:
		// The event's retention has ended, or its customer was forgotten.
		r.outcome.Status = queue.Cancelled
		return r
	case number > len(w.config.RetryDelays)+1:
		// The delivery has had all its attempts, but its webhook was to be disabled (applyWebhookState), and was not.
		r.outcome.Status = queue.Failed
		return r
	}
	attempt := queue.Attempt{Number: number, StartedAt: w.config.DB.Now()}
	secret, err := w.config.Secrets.Open(d.Secret, d.SecretKey, d.WebhookID[:])
	if errors.Is(err, seal.ErrUnknownKey) {
		w.skip(ctx, &r, err)
		return r
	}
	if err != nil {
		w.config.Logger.ErrorContext(ctx, "a webhook's secret cannot be opened", "webhook_id", d.WebhookID, "error", err)
		attempt.Error = "signing secret cannot be read"
		w.metrics.attempted(attempt)
		w.recordFailure(&r, attempt, false)
		return r
	}
	ctx, s := w.beginSpan(ctx, d, number)
	answer := w.client.Post(ctx, d.URL, signature.Headers(secret, attempt.StartedAt, d.EventID.String(), d.EventType, number,
		d.Payload), d.Payload)
	r.ended = time.Now()
	if answer.Problem == egress.ProblemInterrupted {
		tracing.Fail(s, answer.Problem)
		s.End()
		r.released = true
		return r
	}
	attempt.Duration, attempt.StatusCode, attempt.Error, attempt.Answer = answer.Duration, answer.Status, answer.Problem,
		answer.Answer
	w.metrics.attempted(attempt)
	endSpan(s, attempt)
	level := slog.LevelDebug
	if answer.Succeeded() {
		r.receiver = receiverSucceeded
		r.outcome.Attempt, r.outcome.Status = &attempt, queue.Succeeded
	} else {
		level = slog.LevelInfo
		r.receiver = receiverFailed
		w.recordFailure(&r, attempt, d.EventType != pingType)
	}
	if w.config.Logger.Enabled(ctx, level) {
		w.config.Logger.LogAttrs(ctx, level, "attempt", attemptAttrs(d, attempt, s)...)
	}
	return r
}

// skipDelay is how long a delivery waits for a worker with the key of its webhook's secret.
const skipDelay = time.Minute

// skip lets a delivery wait whose webhook's secret has a key that this worker lacks (err). It logs each webhook once.
func (w *Worker) skip(ctx context.Context, r *endedLease, err error) {
	d := r.outcome.Delivery
	r.outcome.Delay = skipDelay
	w.metrics.unsigned.Inc()
	if _, logged := w.unsigned.LoadOrStore(d.WebhookID, true); !logged {
		w.config.Logger.ErrorContext(ctx, "deliveries wait, because their webhook's secret cannot be opened", "webhook_id", d.WebhookID,
			"store_id", d.StoreID, "error", err)
	}
}

// attemptAttrs has the id of the request that caused the event as request_id.
func attemptAttrs(d queue.Delivery, a queue.Attempt, s trace.Span) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("event_id", d.EventID.String()), slog.String("event_type", d.EventType),
		slog.String("store_id", d.StoreID.String()), slog.String("webhook_id", d.WebhookID.String()),
		slog.String("delivery_id", d.ID.String()), slog.Int("attempt", a.Number), slog.Int("status", a.StatusCode),
		slog.String("error", a.Error), slog.Float64("duration_ms", inMilliseconds(a.Duration)),
	}
	if d.RequestID != uuid.Nil {
		attrs = append(attrs, slog.String("request_id", d.RequestID.String()))
	}
	if c := s.SpanContext(); c.IsValid() {
		attrs = append(attrs, slog.String("trace_id", c.TraceID().String()))
	}
	return attrs
}

// recordFailure gives the delivery another attempt after a delay, or fails it after the last. A ping gets only one.
// countsAsFailure is for the disabling of the webhook.
func (w *Worker) recordFailure(r *endedLease, attempt queue.Attempt, countsAsFailure bool) {
	r.outcome.Attempt, r.outcome.CountsAsFailure = &attempt, countsAsFailure
	delay, more := retryDelay(w.config.RetryDelays, attempt.Number, rand.Float64())
	if !more || r.outcome.Delivery.EventType == pingType {
		r.outcome.Status = queue.Failed
		return
	}
	r.outcome.Delay = delay
}
