package monitor_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/monitor"
)

func ask(handler http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// guard admits every request that has an Authorization header.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestProfilesNeedTheToken(t *testing.T) {
	t.Parallel()
	c := monitor.Config{Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Ready: func(context.Context) error { return nil }}
	open := monitor.Handler(c)
	c.Guard = guard
	guarded := monitor.Handler(c)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=2", "/debug/pprof/symbol",
		"/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=1"} {
		require.Equal(t, http.StatusNotFound, ask(open, path).Code, path)
		require.Equal(t, http.StatusUnauthorized, ask(guarded, path).Code, path)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1"} {
		require.Equal(t, http.StatusOK, ask(guarded, path, "Authorization", "x").Code, path)
	}
	require.Equal(t, http.StatusNotFound, ask(guarded, "/debug/pprof/cmdline", "Authorization", "x").Code,
		"the command line may hold a password")
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		var log strings.Builder
		handler := monitor.Handler(monitor.Config{
			Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Ready: func(ctx context.Context) error { return monitor.NewReadiness(d).Check(ctx) },
		})
		require.Equal(t, `{"status":"ready"}`+"\n", ask(handler, "/readyz").Body.String())
		_, err := d.Writer().Exec("DROP TABLE goose_db_version")
		require.NoError(t, err)
		behind := ask(handler, "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, behind.Code)
		require.Contains(t, behind.Body.String(), "storefront migrate up")
		require.Contains(t, log.String(), "not ready")
		live := ask(handler, "/healthz")
		require.Equal(t, http.StatusOK, live.Code, "the process lives")
		require.Equal(t, "application/json", live.Header().Get("Content-Type"))
	})
	unreachable := monitor.Handler(monitor.Config{
		Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Ready: func(context.Context) error { return errors.New("secret") },
	})
	require.NotContains(t, ask(unreachable, "/readyz").Body.String(), "secret")
}

func TestEveryProcessTellsOfItself(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		handler := monitor.Handler(monitor.Config{Logger: slog.New(slog.DiscardHandler), Metrics: monitor.NewRegistry(d,
			slog.New(slog.DiscardHandler))})
		text := ask(handler, "/metrics").Body.String()
		for _, want := range []string{
			"go_goroutines ", `go_sql_open_connections{db_name="read"} `, "storefront_delivery_lag_seconds 0",
			`storefront_deliveries_waiting{attempt="retry"} 0`, "storefront_clock_offset_seconds ", "storefront_info{version=",
		} {
			require.Contains(t, text, "\n"+want)
		}
	})
}

func TestTheOperatorsTraceGoesOn(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		require.NoError(t, http.NewResponseController(w).Flush())
		w.WriteHeader(http.StatusTeapot) // ignored, because a status was sent already
	})
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for path := range map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true, "/debug/pprof/heap": true} {
		mux.HandleFunc("GET "+path, func(http.ResponseWriter, *http.Request) {})
	}
	require.Equal(t, http.Handler(mux), monitor.Traced(nil, mux), "traces are off")
	handler := monitor.Traced(sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), mux)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/heap"} {
		ask(handler, path)
		require.Empty(t, kept.GetSpans(), "%s is asked too often", path)
	}
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	ask(handler, "/things/secret", "Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	ask(handler, "/broken")
	made := kept.GetSpans()
	require.Equal(t, traceID, made[0].SpanContext.TraceID().String())
	require.Equal(t, "/things/{id}", made[0].Attributes[0].Value.String())
	require.EqualValues(t, http.StatusOK, made[0].Attributes[1].Value.AsInt64())
	require.False(t, made[1].Parent.IsValid())
	require.Equal(t, "Error", made[1].Status.Code.String())
}
