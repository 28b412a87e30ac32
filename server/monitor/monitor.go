// Package monitor shows the operator the state of a server or a worker process: health, readiness, metrics and profiles.
// This folder also has a Grafana dashboard and alert rules for the metrics (grafana.json, alerts.yaml).
//
// Profiles always require a token, because they show what a process does and for whom. The process's command line is never
// shown, because it may contain a password.
package monitor

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/server/apierr"
)

// Config configures Mounts.
type Config struct {
	// Ready says why the process cannot work. If its error is a refusal, /readyz shows the message.
	Ready func(context.Context) error
	// Metrics are shown at /metrics.
	Metrics prometheus.Gatherer
	// Guard requires the operator's token. Without it there are no profiles.
	Guard func(http.Handler) http.Handler
	// Logger gets a line each time the process reports that it is not ready.
	Logger *slog.Logger
}

// Mount is a handler and its pattern for http.ServeMux.
type Mount struct {
	Pattern string
	Handler http.Handler
}

// Mounts returns the handlers of /healthz, which succeeds while the process lives; /readyz, while it can work; /metrics, in
// Prometheus's text format; and /debug/pprof/, which Guard protects. The others need no token.
func Mounts(c Config) []Mount {
	mounts := []Mount{
		{"GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })},
		{"GET /readyz", http.HandlerFunc(c.serveReady)},
		// Compression would take a megabyte of memory for each request. The handler reports an error whenever a reader hangs
		// up, so these are only logged as debug.
		{"GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{
			DisableCompression: true, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		})},
	}
	if c.Guard == nil {
		return mounts
	}
	for path, profile := range map[string]http.HandlerFunc{
		"GET /debug/pprof/":        pprof.Index,
		"GET /debug/pprof/profile": pprof.Profile,
		"GET /debug/pprof/symbol":  pprof.Symbol,
		"GET /debug/pprof/trace":   pprof.Trace,
	} {
		mounts = append(mounts, Mount{path, c.Guard(profile)})
	}
	return mounts
}

// Handler serves Mounts(c).
func Handler(c Config) http.Handler { return Mux(Mounts(c)) }

// Mux serves mounts by their patterns.
func Mux(mounts []Mount) *http.ServeMux {
	mux := http.NewServeMux()
	for _, m := range mounts {
		mux.Handle(m.Pattern, m.Handler)
	}
	return mux
}

func (c Config) serveReady(w http.ResponseWriter, r *http.Request) {
	if err := c.Ready(r.Context()); err != nil {
		c.Logger.WarnContext(r.Context(), "not ready", "error", err)
		writeText(w, http.StatusServiceUnavailable, apierr.FromError(err, db.IsUnreachable).Message)
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(apijson.AppendString([]byte(`{"status":`), text), "}\n"...))
}
