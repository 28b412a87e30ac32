package hook

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
)

// cause sets the cause of an event: nothing for a change without a request, and without a trace.
func cause(ctx context.Context, m *ent.EventMutation) {
	if r := tenant.RequestOf(ctx); r != nil {
		m.SetRequestID(r.ID)
	}
	if parent := tracing.Traceparent(ctx); parent != "" {
		m.SetTrace(parent)
	}
}

// span starts the span of the records that are written beside the change. Deliveries are children of the
// outbox's span.
func (r *recorder) span(ctx context.Context) (context.Context, trace.Span) {
	var types []string
	for _, c := range r.changes {
		types = append(types, c.events...)
	}
	if len(types) == 0 {
		return tracing.Child(ctx, "journal")
	}
	ctx, s := tracing.Child(ctx, "outbox")
	if s.IsRecording() {
		s.SetAttributes(attribute.StringSlice("storefront.event.types", types))
	}
	return ctx, s
}
