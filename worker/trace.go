package worker

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tracing"
)

// beginSpan makes a child of the span of the change that made the event, even if the attempt comes much later. So a payment's
// trace shows whether its receivers were notified, and is sampled as a whole. Receivers get no trace headers.
func (w *Worker) beginSpan(ctx context.Context, d queue.Delivery, number int) (context.Context, trace.Span) {
	if w.config.Traces == nil {
		return ctx, noop.Span{}
	}
	ctx, s := tracing.Tracer(w.config.Traces).Start(tracing.Remote(ctx, d.Trace), "attempt "+d.EventType,
		trace.WithSpanKind(trace.SpanKindClient))
	if s.IsRecording() {
		s.SetAttributes(
			attribute.String("storefront.event.id", d.EventID.String()), attribute.String("storefront.event.type", d.EventType),
			attribute.String("storefront.store_id", d.StoreID.String()), attribute.String("storefront.webhook_id", d.WebhookID.String()),
			attribute.String("storefront.delivery_id", d.ID.String()), attribute.Int("storefront.attempt", number),
		)
		if d.RequestID != uuid.Nil {
			s.SetAttributes(attribute.String("storefront.request_id", d.RequestID.String()))
		}
	}
	return ctx, s
}

func endSpan(s trace.Span, a queue.Attempt) {
	if !s.IsRecording() {
		return
	}
	if a.StatusCode != 0 {
		s.SetAttributes(attribute.Int("http.response.status_code", a.StatusCode))
	}
	if !a.Succeeded() {
		tracing.Fail(s, kindOf(a.Error))
	}
	s.End()
}
