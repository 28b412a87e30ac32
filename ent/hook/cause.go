package hook

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
)

// Cause is what led to a change, as the columns request_id and trace of its events: nil for a
// change without a request, and while there are no traces.
func Cause(ctx context.Context) (request *uuid.UUID, traceparent *string) {
	if r := tenant.RequestOf(ctx); r != nil {
		request = &r.ID
	}
	if parent := tracing.Traceparent(ctx); parent != "" {
		traceparent = &parent
	}
	return request, traceparent
}

// Made notes an event that the transaction of the context wrote for itself, as one that no change
// of a row causes. Committed tells of it like of the others.
func Made(ctx context.Context, eventID uuid.UUID) {
	r := from(ctx)
	r.made = append(r.made, eventID)
}

// Committed notes the events of the transaction with the request that it was made for. It is
// called once the transaction has been committed.
func Committed(ctx context.Context) {
	tenant.RequestOf(ctx).Caused(from(ctx).made...)
}

// begin begins the span of what is written beside the change. Deliveries are children of an
// outbox's.
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
