// Package monitor is what every process of the service, server or worker, shows those who keep
// it running: whether it lives and can work, its metrics, and profiles. Beside its code lie the
// dashboard and the alert rules that are made of these metrics (grafana.json, alerts.yaml).
//
// It serves profiles to nobody without a token, for they tell what a process is doing for whom; and
// never the command line, which may hold a password.
package monitor

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/route"
)

// Config says what is shown.
type Config struct {
	// Ready tells why the process cannot work, as an error whose refusal is shown; nil while it can.
	Ready func(context.Context) error
	// Metrics are shown at /metrics.
	Metrics prometheus.Gatherer
	// Guard asks for the operator's token. Without it there are no profiles.
	Guard func(http.Handler) http.Handler
	// Logger gets a line each time that the process is not ready.
	Logger *slog.Logger
}

// Mount is a handler and where it stands, as a pattern of http.ServeMux.
type Mount struct {
	Pattern string
	Handler http.Handler
}

// Mounts is /healthz, which answers while the process lives, /readyz, while it can work, /metrics
// in Prometheus text form, all three to anybody, and behind the guard /debug/pprof/.
func Mounts(c Config) []Mount {
	mounts := []Mount{
		{"GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })},
		{"GET /readyz", http.HandlerFunc(c.serveReady)},
		{"GET /metrics", showMetrics(c.Metrics, c.Logger)},
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

// Handler serves the mounts.
func Handler(c Config) http.Handler {
	mux := route.NewMux()
	for _, m := range Mounts(c) {
		mux.Handle(m.Pattern, m.Handler)
	}
	return mux
}

func (c Config) serveReady(w http.ResponseWriter, r *http.Request) {
	if err := c.Ready(r.Context()); err != nil {
		c.Logger.WarnContext(r.Context(), "not ready", "error", err)
		say(w, http.StatusServiceUnavailable, apierr.Of(err, db.IsUnreachable).Message)
		return
	}
	say(w, http.StatusOK, "ready")
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(wire.AppendString([]byte(`{"status":`), text), "}\n"...))
}
