package dashboard

import (
	"cmp"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/httplog"
)

// routeOf is the pattern of the page that answers a request, such as /dashboard/keys/{id}/revoke, and its method. The log
// has them instead of the request's own, which may contain a sign-in link's token or anything else.
func routeOf(r *http.Request) (method, route string) {
	method, route, known := strings.Cut(r.Pattern, " ")
	if !known {
		return "other", httplog.Unmatched
	}
	return method, route
}

// identified is the front of every page: the request's identifier, the headers that protect a browser, its line in the log, and
// the page of a panic.
func (d *dashboard) identified(next http.Handler) http.Handler {
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
