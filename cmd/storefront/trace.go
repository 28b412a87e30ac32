package main

import (
	"context"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tracing"
)

const flushTimeout = 5 * time.Second

// traces sends the spans of this process to a collector. The zero value sends none.
type traces struct {
	provider *sdktrace.TracerProvider
	report   func(error)
}

// openTraces sends spans if an OTEL_ variable names an endpoint, or OTEL_TRACES_EXPORTER is otlp. otlpClient and the SDK read
// the other variables. An error of sending only calls report.
func (s *invocation) openTraces(report func(error)) (traces, error) {
	enabled, err := s.tracesEnabled()
	if err != nil || !enabled {
		return traces{}, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(report))
	client, err := s.newOTLPClient()
	if err != nil {
		return traces{}, err
	}
	exporter, err := otlptrace.New(s.ctx, client)
	if err != nil {
		return traces{}, fmt.Errorf("open the exporter of traces: %w", err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", "storefront")}
	if build, ok := debug.ReadBuildInfo(); ok {
		attributes = append(attributes, attribute.String("service.version", build.Main.Version))
	}
	// Add no attributes of the process, because its command line may contain a password.
	origin, err := resource.New(s.ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		return traces{}, usage("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return traces{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(origin)), report}, nil
}

func (s *invocation) variable(name string) string {
	value, _ := s.env("OTEL_" + name)
	return strings.TrimSpace(value)
}

// tracesEnabled fails for an endpoint, an exporter or a protocol with which no span could be sent.
func (s *invocation) tracesEnabled() (bool, error) {
	if strings.EqualFold(s.variable("SDK_DISABLED"), "true") {
		return false, nil
	}
	endpoint := ""
	for _, name := range []string{"EXPORTER_OTLP_ENDPOINT", "EXPORTER_OTLP_TRACES_ENDPOINT"} {
		value := s.variable(name)
		if value == "" {
			continue
		}
		if u, err := url.Parse(value); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return false, usage("OTEL_%s: must be an address such as http://collector.example:4318", name)
		}
		endpoint = value
	}
	switch exporter := s.variable("TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "":
		if endpoint == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, usage("OTEL_TRACES_EXPORTER: must be otlp or none, not %q", exporter)
	}
	for _, name := range []string{"EXPORTER_OTLP_PROTOCOL", "EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if protocol := s.variable(name); protocol != "" && protocol != "http/protobuf" {
			return false, usage("OTEL_%s: must be http/protobuf, not %q; collectors take it at port 4318", name, protocol)
		}
	}
	return true, nil
}

// tracerProvider returns nil if traces are off.
func (t traces) tracerProvider() trace.TracerProvider {
	if t.provider == nil {
		return nil
	}
	return t.provider
}

// flush sends the last spans, even if ctx has ended.
func (t traces) flush(ctx context.Context) {
	if t.provider == nil {
		return
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ending); err != nil {
		t.report(err)
	}
}

// trace calls do inside a span, and sends the span before it returns.
func (s *invocation) trace(do func(ctx context.Context) error) (err error) {
	t, err := s.openTraces(func(err error) {
		_, _ = fmt.Fprintln(s.errs, "storefront: traces are not sent:", err)
	})
	if err != nil {
		return err
	}
	if t.provider == nil {
		return do(s.ctx)
	}
	defer t.flush(s.ctx)
	ctx, root := tracing.Tracer(t.provider).Start(s.ctx, "storefront "+s.command)
	defer func() { tracing.End(root, err) }()
	return do(ctx)
}
