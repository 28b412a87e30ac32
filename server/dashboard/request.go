package dashboard

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
)

// answer remembers the status of an answer for the log.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController through.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// identified gives each request an identifier, which its answer, its line in the log, and the
// events that it causes carry. Addresses are logged without their queries: sign-in links have
// their token there.
func (d *dashboard) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, began := &tenant.Request{ID: uuid.New()}, time.Now()
		a := &answer{ResponseWriter: w}
		w.Header().Set("X-Request-Id", request.ID.String())
		next.ServeHTTP(a, r.WithContext(tenant.WithRequest(r.Context(), request)))
		if a.status == 0 {
			a.status = http.StatusOK
		}
		attrs := []slog.Attr{
			slog.String("request_id", request.ID.String()),
			slog.String("method", r.Method),
			slog.String("path", r.URL.Path),
			slog.Int("status", a.status),
			slog.Float64("duration_ms", float64(time.Since(began).Microseconds())/1000),
		}
		if len(request.Events) > 0 {
			attrs = append(attrs, slog.Any("event_ids", request.Events))
		}
		d.Logger.LogAttrs(r.Context(), slog.LevelInfo, "dashboard request", attrs...)
	})
}
