// Package httplog wraps the handlers of the public API, the admin services and the dashboard. It gives each request an id, a
// span and a log line, and converts a panic to a refusal.
//
//	Begin: X-Request-Id ──► the listener's own rules ──► End: log line, span
//	                          │ panic ──► Recover: a refusal, or a connection that breaks
//
// Log lines and spans contain no text of the client. The wrapped handlers pass attributes of their own, such as the store, to End.
package httplog

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/server/apierr"
)

// HeaderRequestID is the header with the request id, in every answer.
const HeaderRequestID = "X-Request-Id"

// Unmatched is the route of an unknown address.
const Unmatched = "unmatched"

// Exchange is one request and the writer of its answer. Only the request's goroutine uses it.
type Exchange struct {
	http.ResponseWriter
	// Request has the request's id, and the ids of the events that the request caused.
	Request tenant.Request
	// Method is empty if Route names the method.
	Method string
	// Route is a path's template or a procedure, and Unmatched until it is found.
	Route string
	// Status is 0 until one is sent.
	Status int
	// Refusal is the refusal that was answered, or nil.
	Refusal *apierr.Refusal
	// Span is nil without traces. Whoever started it ends it.
	Span  trace.Span
	start time.Time
}

// noStore is needed because a proxy that keeps an answer gives it to requests with another key.
var noStore = []string{"no-store"}

// Begin also sets the headers with the request id and against caches.
func Begin(w http.ResponseWriter) Exchange {
	x := Exchange{ResponseWriter: w, Request: tenant.Request{ID: uuid.New()}, Route: Unmatched, start: time.Now()}
	w.Header()[HeaderRequestID] = []string{x.Request.ID.String()}
	w.Header()["Cache-Control"] = noStore
	return x
}

// WriteHeader also records the status.
func (x *Exchange) WriteHeader(status int) {
	if x.Status == 0 && status >= 200 {
		x.Status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *Exchange) Write(p []byte) (int, error) {
	if x.Status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	return x.ResponseWriter.Write(p)
}

// Flush sends everything written so far.
func (x *Exchange) Flush() {
	if x.Status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(x.ResponseWriter).Flush()
}

func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Duration returns the time since Begin.
func (x *Exchange) Duration() time.Duration { return time.Since(x.start) }

// Recover must be deferred. After a panic it calls refuse, which answers the request. If an answer below 400 has begun, it
// breaks the connection, because only that tells the client that the answer is not complete.
func (x *Exchange) Recover(logger *slog.Logger, refuse func(error)) {
	v := recover()
	switch {
	case v == nil:
		return
	case v == any(http.ErrAbortHandler): //nolint:errorlint // A handler panics with this value, and never wraps it.
		panic(v)
	}
	begun := x.Status != 0
	func() {
		defer x.RecoverEnd(logger)
		refuse(apierr.FromPanic(v))
	}()
	if x.Status == 0 || begun && x.Status < 400 {
		panic(http.ErrAbortHandler)
	}
}

// RecoverEnd must be deferred by code that runs after the answer. It logs a panic.
func (x *Exchange) RecoverEnd(logger *slog.Logger) {
	v := recover()
	if v == nil {
		return
	}
	defer func() { _ = recover() }() // the logger may panic too
	logger.Error("the end of a request failed", "request_id", x.Request.ID.String(), "error", apierr.FromPanic(v))
}

// End completes the span and writes the log line, as an error for a failure of the service. extra has the listener's own
// attributes. status 0 means that the connection broke.
func (x *Exchange) End(ctx context.Context, logger *slog.Logger, message string, status int, extra ...slog.Attr) {
	failed := x.Refusal != nil && x.Refusal.Cause != nil
	if x.Span != nil {
		x.completeSpan(status, failed)
	}
	level := slog.LevelInfo
	if failed {
		level = slog.LevelError
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	var line [14]slog.Attr
	attrs := append(line[:0], slog.String("request_id", x.Request.ID.String()))
	if x.Method != "" {
		attrs = append(attrs, slog.String("method", x.Method))
	}
	attrs = append(attrs, slog.String("route", x.Route), slog.Int("status", status),
		slog.Float64("duration_ms", float64(x.Duration().Microseconds())/1000))
	if x.Refusal != nil {
		attrs = append(attrs, slog.String("code", string(x.Refusal.Code)))
	}
	attrs = append(attrs, extra...)
	if len(x.Request.Events) > 0 {
		attrs = append(attrs, slog.Any("event_ids", x.Request.Events))
	}
	if x.Span != nil && x.Span.SpanContext().IsValid() {
		attrs = append(attrs, slog.String("trace_id", x.Span.SpanContext().TraceID().String()))
	}
	if failed {
		attrs = append(attrs, slog.String("error", x.Refusal.Cause.Error()))
	}
	logger.LogAttrs(ctx, level, message, attrs...)
}

// completeSpan names the span by method and route, and adds how the request ended.
func (x *Exchange) completeSpan(status int, failed bool) {
	name := x.Route
	if x.Method != "" {
		name = x.Method + " " + x.Route
		x.Span.SetAttributes(attribute.String("http.request.method", x.Method))
	}
	x.Span.SetName(name)
	x.Span.SetAttributes(attribute.String("http.route", x.Route), attribute.Int("http.response.status_code", status),
		attribute.String("storefront.request_id", x.Request.ID.String()))
	if x.Refusal != nil {
		x.Span.SetAttributes(attribute.String("storefront.refusal", string(x.Refusal.Code)))
	}
	if failed {
		tracing.Fail(x.Span, string(x.Refusal.Code))
	}
}
