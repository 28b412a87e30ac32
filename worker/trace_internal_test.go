package worker

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/hook"
)

func TestAnAttemptIsPartOfTheTraceThatCausedIt(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		kept := tracetest.NewInMemoryExporter()
		var log bytes.Buffer
		w := in.worker(func(c *Config) {
			c.Traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
			c.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		const traceID, spanID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
		request := uuid.New()
		line := func() map[string]any {
			var fields map[string]any
			require.NoError(t, json.Unmarshal(log.Bytes(), &fields), log.String())
			log.Reset()
			return fields
		}
		emit := func(trace any) uuid.UUID {
			event := m.emit(hook.OrderPaid, 1)[0]
			in.exec("UPDATE events SET trace = $1, request_id = $2 WHERE id = $3", trace, request, event)
			require.Equal(t, 1, w.pass(), "attempts that were due and are made")
			return event
		}

		event := emit("00-" + traceID + "-" + spanID + "-01")
		made := kept.GetSpans()[0]
		require.Equal(t, "attempt order.paid", made.Name)
		require.Equal(t, trace.SpanKindClient, made.SpanKind)
		require.Equal(t, []string{traceID, spanID}, []string{made.SpanContext.TraceID().String(), made.Parent.SpanID().String()})
		attributes := map[string]string{}
		for _, a := range made.Attributes {
			attributes[string(a.Key)] = a.Value.String()
		}
		require.Equal(t, webhook.String(), attributes["storefront.webhook_id"])
		require.Equal(t, event.String(), attributes["storefront.event.id"])
		require.Equal(t, request.String(), attributes["storefront.request_id"])
		require.Equal(t, []string{"1", "204"}, []string{attributes["storefront.attempt"], attributes["http.response.status_code"]})
		for _, value := range attributes {
			require.NotContains(t, value, in.receiver.URL)
			require.NotContains(t, value, in.secrets[webhook])
		}
		for name := range in.receiver.got()[0].header {
			require.NotContains(t, []string{"Traceparent", "Tracestate", "Baggage"}, name, "the receiver is told nothing of it")
		}
		entry := line()
		require.Equal(t, []any{event.String(), request.String(), traceID}, []any{entry["event_id"], entry["request_id"],
			entry["trace_id"]})
		require.IsType(t, 1.5, entry["duration_ms"])

		in.receiver.always(http.StatusTeapot)
		emit("00-" + traceID + "-" + spanID + "-01")
		require.Equal(t, sdktrace.Status{Code: codes.Error}, kept.GetSpans()[1].Status)
		line()

		emit("00-" + traceID + "-" + spanID + "-00")
		require.Len(t, kept.GetSpans(), 2, "a change that was not recorded has no attempts that are")
		line()
		emit(nil)
		require.False(t, kept.GetSpans()[2].Parent.IsValid(), "a change made without traces")
	})
}
