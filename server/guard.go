package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
	"go.storefront.example/server/rest"
	"go.storefront.example/server/route"
)

// maxQueryBytes bounds a query on the operator's listener and of the reference: handlers parse it
// into a map many times its size.
const maxQueryBytes = 8 << 10

// guard wraps every handler outside the edge: it bounds what is read and how long a client may take to
// read, and recovers from and logs panics.
type guard struct {
	logger *slog.Logger
	now    func() time.Time
	next   http.Handler
	// reading is how long the client may take to read each part of a response.
	reading time.Duration
}

// NewGuard returns a handler that bounds what next reads of a request and how long its client may take to read the
// response, and answers and logs its panics. now is the clock for the dates of errors.
func NewGuard(logger *slog.Logger, now func() time.Time, next http.Handler) http.Handler {
	return guard{logger, now, next, rest.WriteTimeout}
}

// ServeHTTP answers a body that is declared too large with payload_too_large, too long a query with
// validation_failed, and a panic with internal_error.
func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{ResponseWriter: w, request: r, reading: g.reading}
	a.lift()        // that of the connection's last response
	defer a.await() // the server has yet to send the last part
	defer g.recover(a, r)
	switch {
	case r.ContentLength > message.MaxEnvelopeBytes(rest.MaxBodyBytes):
		g.refuse(a, message.TooLarge(rest.MaxBodyBytes))
	case len(r.URL.RawQuery) > maxQueryBytes:
		g.refuse(a, apierr.Invalid("The query is longer than 8 KiB."))
	default:
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, message.MaxEnvelopeBytes(rest.MaxBodyBytes))
		}
		g.next.ServeHTTP(a, r)
	}
}

// Patterns lists what is behind the guard.
func (g guard) Patterns() []string {
	if listed, ok := g.next.(route.Lister); ok {
		return listed.Patterns()
	}
	return nil
}

func (g guard) recover(a *answer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	id := uuid.NewString()
	if sent := a.Header().Get("X-Request-Id"); sent != "" {
		id = sent
	}
	g.logger.ErrorContext(r.Context(), "a request broke", "request_id", id, "route", route.Of(r), "error", fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
	if a.begun {
		panic(http.ErrAbortHandler)
	}
	g.refuse(a, apierr.New(apierr.InternalError, "The service failed to answer; try again later."))
}

// refuse answers with the error body of the service.
func (g guard) refuse(a *answer, err error) {
	rest.WriteError(a, apierr.Of(err, func(error) bool { return false }), g.now())
}

// answer records whether a response has begun. Before that, it skips the rest of the body. It allows
// each part of the response its own time to be read: net/http would count from the request on, and streams and
// profiles last long.
type answer struct {
	http.ResponseWriter
	request *http.Request
	begun   bool
	reading time.Duration
}

func (a *answer) begin() {
	if !a.begun {
		a.begun = true
		message.Drain(a.ResponseWriter, a.request)
	}
}

// await bounds how long the server waits for the client to read what comes next, until lift.
func (a *answer) await() { a.limit(time.Now().Add(a.reading)) }

// lift lifts the bound: it would end a response on HTTP/2 even while there is nothing to send.
func (a *answer) lift() { a.limit(time.Time{}) }

func (a *answer) limit(until time.Time) {
	// Only a test's writer cannot do it.
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(until)
}

// WriteHeader implements http.ResponseWriter. Every 503 says when to try again.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.begin()
	}
	if status == http.StatusServiceUnavailable {
		a.Header().Set("Retry-After", "1")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	a.await()
	defer a.lift()
	return a.ResponseWriter.Write(p)
}

// Flush sends what was written so far, as streams need it.
func (a *answer) Flush() {
	a.begin()
	a.await()
	defer a.lift()
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap returns the writer beneath, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

var _ http.Flusher = (*answer)(nil)
