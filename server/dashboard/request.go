package dashboard

import (
	"cmp"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/httplog"
)

// routeOf returns a request's method, and the pattern of the page that answers it, such as /dashboard/keys/{id}/revoke. The
// log shows the pattern, because the request's path may contain a sign-in link's token.
func routeOf(r *http.Request) (method, route string) {
	method, route, known := strings.Cut(r.Pattern, " ")
	if !known {
		return "OTHER", httplog.Unmatched
	}
	return method, route
}

// logRequests wraps all pages. It gives each request an id, sets the headers that protect the browser, writes the log line,
// and answers panics.
func (d *dashboard) logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := httplog.Begin(w)
		x.Span = trace.SpanFromContext(r.Context())
		d.protect(w.Header())
		inner := r.WithContext(tenant.WithRequest(r.Context(), &x.Request))
		defer func() {
			x.Method, x.Route = routeOf(inner)
			x.End(inner.Context(), d.Logger, "dashboard request", cmp.Or(x.Status, http.StatusOK))
		}()
		defer x.Recover(d.Logger, func(err error) {
			if x.Status != 0 {
				d.logFailure(inner, err)
				return
			}
			d.fail(&x, inner, err)
		})
		next.ServeHTTP(&x, inner)
	})
}
