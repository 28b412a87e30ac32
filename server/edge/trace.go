package edge

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tracing"
)

// beginSpan starts the span of a request and returns the context with it. It starts a new trace,
// with a link to the client's, if there is one.
func (e *Edge) beginSpan(ctx context.Context, x *exchange, parent string) context.Context {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if parent != "" {
		if link := trace.LinkFromContext(tracing.Remote(ctx, parent)); link.SpanContext.IsValid() {
			options = append(options, trace.WithLinks(link))
		}
	}
	ctx, x.span = tracing.Tracer(e.config.Traces).Start(ctx, "request", options...)
	return ctx
}

// endSpan records the outcome of the request. Like its log line, the span contains none of the
// client's own text: its name is the method and the route.
func (x *exchange) endSpan(done Request) {
	x.span.SetName(x.verb + " " + x.route)
	x.span.SetAttributes(
		attribute.String("http.request.method", x.verb), attribute.String("http.route", x.route),
		attribute.Int("http.response.status_code", done.Status),
		attribute.String("storefront.protocol", string(x.protocol)), attribute.String("storefront.request_id", x.request.ID.String()),
	)
	if x.principal.KeyID != uuid.Nil {
		x.span.SetAttributes(attribute.String("storefront.store", x.principal.Store.Slug))
	}
	if done.Code != "" {
		x.span.SetAttributes(attribute.String("storefront.refusal", done.Code))
	}
	if x.refusal != nil && x.refusal.Cause != nil {
		tracing.Fail(x.span, done.Code)
	}
	x.span.End()
}
