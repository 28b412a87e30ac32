package edge

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tracing"
)

// beginSpan begins a new trace, which links to the client's.
func (e *Edge) beginSpan(ctx context.Context, x *exchange, parent string) context.Context {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if parent != "" {
		if link := trace.LinkFromContext(tracing.Remote(ctx, parent)); link.SpanContext.IsValid() {
			options = append(options, trace.WithLinks(link))
		}
	}
	ctx, x.Span = tracing.Tracer(e.config.Traces).Start(ctx, "request", options...)
	return ctx
}
