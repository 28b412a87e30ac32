package monitor

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tracing"
)

// probes get no spans, because they are requested every few seconds.
var probes = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// Traced starts a span for each request to the admin listener, unless traces is nil. It is a child of the caller's span:
// the operator, unlike a client of the public API, may decide what is sampled.
func Traced(traces trace.TracerProvider, next http.Handler) http.Handler {
	if traces == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if probes[r.URL.Path] || strings.HasPrefix(r.URL.Path, "/debug/") {
			next.ServeHTTP(w, r)
			return
		}
		ctx, s := tracing.Tracer(traces).Start(tracing.Remote(r.Context(), r.Header.Get("Traceparent")), "operator request",
			trace.WithSpanKind(trace.SpanKindServer))
		defer s.End()
		inner := r.WithContext(ctx)
		answer := &status{ResponseWriter: w}
		next.ServeHTTP(answer, inner)
		s.SetAttributes(attribute.String("http.route", routeOf(inner)), attribute.Int("http.response.status_code",
			max(answer.code, http.StatusOK)))
		if answer.code >= http.StatusInternalServerError {
			tracing.Fail(s, strconv.Itoa(answer.code))
		}
	})
}

// routeOf returns the path in the pattern that a request matched, or "unmatched".
func routeOf(r *http.Request) string {
	if _, path, ok := strings.Cut(r.Pattern, " "); ok {
		return path
	}
	return cmp.Or(r.Pattern, "unmatched")
}

// status records the status of the answer; 0 until one is sent.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if s.code == 0 && code >= http.StatusOK {
		s.code = code
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(p []byte) (int, error) {
	s.code = max(s.code, http.StatusOK)
	return s.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which streams need.
func (s *status) Flush() {
	s.code = max(s.code, http.StatusOK)
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

var _ http.Flusher = (*status)(nil)
