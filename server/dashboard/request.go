package dashboard

import (
	"cmp"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/httplog"
)

// routeOf returns the pattern, such as /dashboard/keys/{id}/revoke, for the log, because the path may contain a sign-in link's
// token.
func routeOf(r *http.Request) (method, route string) {
	method, route, known := strings.Cut(r.Pattern, " ")
	if !known {
		return "OTHER", httplog.Unmatched
	}
	return method, route
}

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
