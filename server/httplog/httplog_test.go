package httplog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/httplog"
)

// serve returns a handler's answer, its log line, and the value with which it panicked.
func serve(t *testing.T, handler func(x *httplog.Exchange)) (w *httptest.ResponseRecorder, line map[string]any, broken any) {
	t.Helper()
	var logs bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&logs, nil))
	w = httptest.NewRecorder()
	func() {
		defer func() { broken = recover() }()
		x := httplog.Begin(w)
		x.Method, x.Route = "GET", "/things/{id}"
		defer func() { x.End(t.Context(), logger, "request", x.Status, slog.String("store", "s")) }()
		defer x.Recover(logger, func(err error) {
			x.Refusal = apierr.FromError(err, func(error) bool { return false })
			if x.Status == 0 {
				x.WriteHeader(http.StatusInternalServerError)
			}
		})
		handler(&x)
	}()
	require.NoError(t, json.Unmarshal(logs.Bytes(), &line), logs.String())
	return w, line, broken
}

func TestARequestHasOneLine(t *testing.T) {
	t.Parallel()
	event := uuid.New()
	w, line, broken := serve(t, func(x *httplog.Exchange) {
		x.Request.AddEvents(event)
		_, _ = x.Write([]byte("ok"))
		x.WriteHeader(http.StatusTeapot) // sent before the panic
	})
	require.Nil(t, broken)
	require.Equal(t, w.Header().Get("X-Request-Id"), line["request_id"])
	require.Equal(t, []any{event.String()}, line["event_ids"])
	for name, want := range map[string]any{
		"level": "INFO", "msg": "request", "method": "GET", "route": "/things/{id}", "status": 200.0, "store": "s",
	} {
		require.Equal(t, want, line[name], name)
	}
	require.NotContains(t, line, "code")
}

func TestAPanicIsRefused(t *testing.T) {
	t.Parallel()
	w, line, broken := serve(t, func(*httplog.Exchange) { panic("no such luck") })
	require.Nil(t, broken)
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "ERROR", line["level"])
	require.Equal(t, "internal_error", line["code"])
	require.Contains(t, line["error"], "no such luck")
}

// A client could take the half answer for a whole one.
func TestAPanicInAnAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	_, line, broken := serve(t, func(x *httplog.Exchange) {
		_, _ = x.Write([]byte("half"))
		panic("no such luck")
	})
	require.Equal(t, http.ErrAbortHandler, broken)
	require.Contains(t, line["error"], "no such luck")
	_, _, broken = serve(t, func(*httplog.Exchange) { panic(http.ErrAbortHandler) })
	require.Equal(t, http.ErrAbortHandler, broken, "a handler may break it itself")
}

func TestTheSpanHasTheOutcome(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	_, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("").Start(t.Context(), "request")
	x := httplog.Begin(httptest.NewRecorder())
	x.Span, x.Route = span, "/storefront.v1.ThingService/GetThing"
	x.Refusal = &apierr.Refusal{Code: apierr.InternalError, Cause: errors.New("secret")}
	x.End(t.Context(), slog.New(slog.DiscardHandler), "request", 500)
	span.End()
	ended := spans.Ended()[0]
	require.Equal(t, "/storefront.v1.ThingService/GetThing", ended.Name())
	found := map[string]string{}
	for _, a := range ended.Attributes() {
		found[string(a.Key)] = a.Value.String()
	}
	require.Equal(t, "internal_error", found["storefront.refusal"])
	require.Equal(t, "500", found["http.response.status_code"])
	require.NotContains(t, ended.Status().Description, "secret")
}
