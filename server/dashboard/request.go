package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/apierr"
)

// answer stores the status of an answer for the log.
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

// routeOf is the pattern of the page that answers a request, such as /dashboard/keys/{id}/revoke, and its method. The log
// has them instead of the request's own, which may contain a sign-in link's token or anything else.
func routeOf(r *http.Request) (method, route string) {
	method, route, known := strings.Cut(r.Pattern, " ")
	if !known {
		return "other", "unmatched"
	}
	return method, route
}

// identified gives each request an identifier, which its answer, its line in the log, and the
// events that it causes carry.
func (d *dashboard) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, began := &tenant.Request{ID: uuid.New()}, time.Now()
		a := &answer{ResponseWriter: w}
		w.Header().Set("X-Request-Id", request.ID.String())
		d.protect(w.Header())
		inner := r.WithContext(tenant.WithRequest(r.Context(), request))
		d.survive(a, inner, next)
		if a.status == 0 {
			a.status = http.StatusOK
		}
		method, route := routeOf(inner)
		attrs := []slog.Attr{
			slog.String("request_id", request.ID.String()),
			slog.String("method", method),
			slog.String("route", route),
			slog.Int("status", a.status),
			slog.Float64("duration_ms", float64(time.Since(began).Microseconds())/1000),
		}
		if len(request.Events) > 0 {
			attrs = append(attrs, slog.Any("event_ids", request.Events))
		}
		d.Logger.LogAttrs(r.Context(), slog.LevelInfo, "dashboard request", attrs...)
	})
}

// survive runs the handler; a panic in it is answered and logged as a failure.
func (d *dashboard) survive(a *answer, r *http.Request, next http.Handler) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		cause := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		if a.status != 0 {
			d.logFailure(r, cause)
			return
		}
		// As a refusal it stays a failure, also when the browser has left.
		d.fail(a, r, apierr.FromError(cause, func(error) bool { return false }))
	}()
	next.ServeHTTP(a, r)
}
