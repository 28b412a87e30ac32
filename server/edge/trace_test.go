package edge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/edge"
)

func wrapService(c *edge.Config, f func(context.Context)) {
	services := c.Services
	c.Services = func(opts ...connect.HandlerOption) []edge.Service {
		return services(append(opts,
			connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
				return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
					f(ctx)
					return next(ctx, r)
				}
			})))...)
	}
}

func TestARequestIsTheFirstSpanOfItsTrace(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	var inside trace.SpanContext
	w := start(t, func(c *edge.Config) {
		c.Traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
		wrapService(c, func(ctx context.Context) { inside = trace.SpanContextFromContext(ctx) })
	})
	const clients = "4bf92f3577b34da6a3ce929d0e0e4736"
	a := w.do(t, "GET", "/v1/products/"+productID+"?q=asked", "", "Traceparent: 00-"+clients+"-00f067aa0ba902b7-01")
	require.Equal(t, http.StatusBadRequest, a.status)
	a = w.do(t, "GET", "/v1/products/"+productID, "", "Traceparent: 00-"+clients+"-00f067aa0ba902b7-01")
	require.Equal(t, http.StatusOK, a.status)
	made := kept.GetSpans()[1]
	require.Equal(t, "GET /v1/products/{id}", made.Name)
	require.Equal(t, made.SpanContext, inside, "handlers work under it")
	require.False(t, made.Parent.IsValid(), "a client cannot put a request into a trace of its own")
	require.NotEqual(t, clients, made.SpanContext.TraceID().String())
	require.Equal(t, clients, made.Links[0].SpanContext.TraceID().String())
	require.Equal(t, made.SpanContext.TraceID().String(), w.lastLine(t)["trace_id"])
	attributes := map[string]string{}
	for _, attribute := range made.Attributes {
		attributes[string(attribute.Key)] = attribute.Value.String()
	}
	require.Equal(t, map[string]string{
		"http.request.method": "GET", "http.route": "/v1/products/{id}", "http.response.status_code": "200",
		"storefront.protocol": "rest", "storefront.request_id": a.header.Get("X-Request-Id"), "storefront.store": "shop",
	}, attributes)

	w.do(t, "GET", "/v1/products/fails", "")
	w.do(t, "BREW", "/coffee", "", "Traceparent: coffee")
	spans := kept.GetSpans()
	require.Equal(t, sdktrace.Status{Code: codes.Error}, spans[2].Status)
	require.Equal(t, "OTHER unmatched", spans[3].Name)
	require.Equal(t, codes.Unset, spans[3].Status.Code, "what a client does wrong is no failure")
	require.Empty(t, spans[3].Links)
	for _, s := range spans {
		for _, attribute := range s.Attributes {
			for _, secret := range []string{fullKey, "asked", productID, "secret", "coffee"} {
				require.NotContains(t, attribute.Value.String(), secret)
			}
		}
	}
}

func TestChangesAreMadeForTheirRequest(t *testing.T) {
	t.Parallel()
	event := uuid.New()
	w := start(t, func(c *edge.Config) {
		wrapService(c, func(ctx context.Context) {
			if r := tenant.CallOf(ctx).Request; r != nil {
				r.AddEvents(event)
			}
		})
	})
	w.do(t, "PATCH", "/v1/products/"+productID, `{"title":"x"}`)
	require.Equal(t, []any{event.String()}, w.lastLine(t)["event_ids"])
	require.NotContains(t, w.lastLine(t), "trace_id", "traces are off")
	w.do(t, "GET", "/v1/products/"+productID, "")
	require.NotContains(t, w.lastLine(t), "event_ids", "reading changes nothing")
}

func TestWhichLimitARequestWasBeyond(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.do(t, "GET", "/v1/store", "", "Authorization: Bearer "+limitedKey)
	w.do(t, "GET", "/v1/store", "", "Authorization: Bearer "+strings.Repeat("x", 10))
	w.do(t, "GET", "/v1/store", "")
	limits := []string{}
	for _, r := range w.requests() {
		limits = append(limits, r.Limit)
	}
	require.Equal(t, []string{edge.LimitKey, "", ""}, limits)
}
