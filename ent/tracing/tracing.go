// Package tracing begins and ends the spans of traces by the rules that every room keeps: a span begins
// only below one that is recorded, so that nothing is spent while traces are off and no statement
// of a timer makes a trace of its own; the provider is the parent's, so that there is no global one;
// and no span tells the text of an error, which may quote what a client sent.
//
// It knows no exporter and no setting: who makes the first span of a trace brings the provider.
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

// tracer is the name of the service's one instrumentation scope.
const tracer = "go.storefront.example"

// Tracer returns the service's tracer of a provider.
func Tracer(p trace.TracerProvider) trace.Tracer { return p.Tracer(tracer) }

// Child begins a span below that of the context. While that is not recorded it returns the context as
// it is, with a span that records nothing.
func Child(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return Tracer(parent.TracerProvider()).Start(ctx, name, options...)
}

// End ends a span, failed when err is not nil. Of the error it tells the type.
func End(s trace.Span, err error) {
	if !s.IsRecording() {
		return
	}
	if err != nil {
		Fail(s, typeOf(err))
	}
	s.End()
}

// Fail marks a span as failed for a reason of bounded variety (OpenTelemetry's error.type).
func Fail(s trace.Span, reason string) {
	s.SetStatus(codes.Error, "")
	s.SetAttributes(attribute.String("error.type", reason))
}

// typeOf names an error by the type of what it began with.
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

// traceparent is the header and the key under which W3C's Trace Context travels.
const traceparent = "traceparent"

// Traceparent returns the context's span as W3C's traceparent (Trace Context, section 3.2), also
// when it was decided not to record it, so that what follows from it is not recorded either; ""
// without a trace.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceparent]
}

// Remote returns a context whose spans are children of a traceparent. What is none is ignored.
func Remote(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}
