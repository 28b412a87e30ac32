// Package tracing starts and ends spans by three rules. A span is started only as the child of a recorded span, so that
// tracing costs nothing while it is off, and the statements of timers make no traces. A span has the provider of its parent,
// so that there is no global provider. No span contains the text of an error, because the text may quote a client's input.
//
// The package has no exporter and no settings: the caller that starts a trace's first span passes the provider.
package tracing

import (
	"context"
	"errors"
	"reflect"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// tracer is the name of the service's only instrumentation scope.
const tracer = "go.storefront.example"

// Tracer returns the service's tracer from the provider p.
func Tracer(p trace.TracerProvider) trace.Tracer { return p.Tracer(tracer) }

// Child starts a child of the context's span or, if that is not recorded, a span that records nothing.
func Child(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return Tracer(parent.TracerProvider()).Start(ctx, name, options...)
}

// End ends a span. If err is not nil, it marks the span as failed and records only the type of the error.
func End(s trace.Span, err error) {
	if !s.IsRecording() {
		return
	}
	if err != nil {
		Fail(s, typeOf(err))
	}
	s.End()
}

// Fail marks a span as failed, with one of a few reasons (OpenTelemetry's error.type).
func Fail(s trace.Span, reason string) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(attribute.String("error.type", reason))
}

// typeOf names the type of an error's innermost cause.
func typeOf(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return reflect.TypeOf(err).String()
}

const traceparent = "traceparent"

// Traceparent returns the context's span as W3C's traceparent (Trace Context, section 3.2), or "". A span that is not sampled
// has one, too, so that its children are not sampled either.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparent]
}

// Remote returns a context whose spans are children of parent, a traceparent. It ignores an invalid one.
func Remote(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}
