package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tracing"
)

// record returns a provider of spans, and the exporter with those that ended.
func record(options ...sdktrace.TracerProviderOption) (trace.TracerProvider, *tracetest.InMemoryExporter) {
	kept := tracetest.NewInMemoryExporter()
	return sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(kept))...), kept
}

func TestNothingIsSpentWithoutATrace(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		inner, s := tracing.Child(ctx, "child")
		if inner != ctx || tracing.Traceparent(inner) != "" {
			t.Fatal("a span without a parent")
		}
		tracing.End(s, nil)
	}))
}

func TestAChildIsOfItsParentsTraceAndProvider(t *testing.T) {
	t.Parallel()
	p, kept := record()
	ctx, root := tracing.Tracer(p).Start(t.Context(), "root")
	inner, child := tracing.Child(ctx, "child")
	require.Contains(t, tracing.Traceparent(inner), child.SpanContext().SpanID().String())
	tracing.End(child, nil)
	tracing.End(root, nil)
	made := kept.GetSpans()
	require.Len(t, made, 2)
	require.Equal(t, made[1].SpanContext.SpanID(), made[0].Parent.SpanID())
	require.Equal(t, codes.Unset, made[0].Status.Code)
}

func TestATraceGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		sampler sdktrace.Sampler
		made    int
	}{
		"what is recorded": {sdktrace.AlwaysSample(), 2},
		"what is not recorded has no descendants that are": {sdktrace.NeverSample(), 0},
	} {
		p, kept := record(sdktrace.WithSampler(sdktrace.ParentBased(row.sampler)))
		here, root := tracing.Tracer(p).Start(t.Context(), "here")
		parent := tracing.Traceparent(here)
		require.NotEmpty(t, parent, name)
		_, there := tracing.Tracer(p).Start(tracing.Remote(context.Background(), parent), "there")
		require.Equal(t, root.SpanContext().TraceID(), there.SpanContext().TraceID(), name)
		tracing.End(there, nil)
		tracing.End(root, nil)
		require.Len(t, kept.GetSpans(), row.made, name)
	}
	for _, none := range []string{"", "00-0-0-01", "x", "00-00000000000000000000000000000000-0000000000000000-01"} {
		require.False(t, trace.SpanContextFromContext(tracing.Remote(t.Context(), none)).IsValid(), none)
	}
}

func TestAFailureTellsItsTypeAndNotItsText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("load awa@example.com: %w", errors.New("awa@example.com")), "*errors.errorString"},
		{fmt.Errorf("load: %w", context.Canceled), "canceled"},
		{fmt.Errorf("load: %w", context.DeadlineExceeded), "timeout"},
	} {
		p, kept := record()
		_, s := tracing.Tracer(p).Start(t.Context(), "s")
		tracing.End(s, row.err)
		made := kept.GetSpans()[0]
		require.Equal(t, sdktrace.Status{Code: codes.Error}, made.Status)
		require.Equal(t, []attribute.KeyValue{attribute.String("error.type", row.want)}, made.Attributes)
		require.Empty(t, made.Events, "no event quotes the error")
	}
}
