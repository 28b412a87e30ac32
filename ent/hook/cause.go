package hook

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
)

// Cause returns the cause of a change, for the columns request_id and trace of its events: nil for
// a change without a request, and without a trace.
func Cause(ctx context.Context) (request *uuid.UUID, traceparent *string) {
	if r := tenant.RequestOf(ctx); r != nil {
		request = &r.ID
	}
	if parent := tracing.Traceparent(ctx); parent != "" {
		traceparent = &parent
	}
	return request, traceparent
}

// Made notes an event that the transaction of the context wrote itself, without a change of a row.
// Committed reports it like the others.
func Made(ctx context.Context, eventID uuid.UUID) {
	r := from(ctx)
	r.made = append(r.made, eventID)
}

// Committed notes the transaction's events on the request that caused them. Call it once, after the
// commit.
func Committed(ctx context.Context) {
	tenant.RequestOf(ctx).Caused(from(ctx).made...)
}

// Wrote reports whether the transaction wrote an event, and of which store.
func Wrote(ctx context.Context) (store uuid.UUID, wrote bool) {
	t, _, _ := tenant.From(ctx)
	return t.ID, len(from(ctx).made) > 0
}

// begin starts the span of the rows written beside the change. Deliveries are children of the
// outbox's span.
func (r *recorder) begin(ctx context.Context) (context.Context, trace.Span) {
	if len(r.events) == 0 {
		return tracing.Child(ctx, "journal")
	}
	ctx, s := tracing.Child(ctx, "outbox")
	if s.IsRecording() {
		types := make([]string, len(r.events))
		for i, e := range r.events {
			types[i] = e.kind
		}
		s.SetAttributes(attribute.StringSlice("storefront.event.types", types))
	}
	return ctx, s
}
