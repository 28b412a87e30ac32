package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel/trace"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/message"
	"go.storefront.example/server/overload"
)

type exchangeKey struct{}

// exchange is one request and its answer: the edge's findings on the way in, the results of the
// interceptor and the handler on the way out, and the writer of the answer. Only the request's
// goroutine uses it.
type exchange struct {
	writer   http.ResponseWriter
	incoming *http.Request
	edge     *Edge

	id       [1]string // as a header value
	request  tenant.Request
	span     trace.Span // nil without traces
	start    time.Time
	address  netip.Addr
	protocol Protocol
	route    string

	principal auth.Principal
	// party is the owner of the slot that the request holds; admitted is when it got the slot, zero
	// if it holds none.
	party    overload.Party
	admitted time.Time
	// searching is since when the request searches, zero if it does not.
	searching time.Time
	// sending is since when the request's answer counts as a large one, zero if it does not.
	sending time.Time
	// shed is set if the request was refused for lack of a slot.
	shed bool
	// stranger is set while the request counts as one on HTTP/2 whose key is not admitted.
	stranger bool
	// working is set once the work has a context; stop ends all such contexts, and the hold on the connection.
	working bool
	stop    []func()
	// method is the called method, set once it is found and needs a key.
	method *method
	// query and body are the input of a request under /v1; broken is why there is no body.
	query  string
	body   bytes.Reader
	broken *wire.Invalid
	// refusal is why the request was refused, nil if it was not.
	refusal *apierr.Refusal
	created bool

	sent   bool
	status int
}

// exchangeOf returns the context's exchange, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Created makes the answer 201 instead of 200 under /v1. In the other protocols, and outside a
// request, it does nothing. Call it from the request's own goroutine.
func Created(ctx context.Context) {
	if x := exchangeOf(ctx); x != nil {
		x.created = true
	}
}

// Header returns the headers of the answer.
func (x *exchange) Header() http.Header { return x.writer.Header() }

// WriteHeader sends the status and the headers.
func (x *exchange) WriteHeader(status int) {
	if x.sent {
		return
	}
	if status >= 200 {
		x.sent, x.status = true, status
		x.hurry()
	}
	x.writer.WriteHeader(status)
}

// hurry bounds how long a refusal, or an answer that needs no key, waits for its reader: anyone can
// ask for 128 of them on one HTTP/2 connection and grant no room for any. A stream has bounds of its own.
func (x *exchange) hurry() {
	open := x.method != nil && x.method.scope == "" && x.method.kind != message.Bidi
	if x.refusal == nil && !open {
		return
	}
	// Only a test's writer cannot do it.
	_ = http.NewResponseController(x.writer).SetWriteDeadline(time.Now().Add(x.patience(openReadTime)))
}

// patience returns how long a stranger may take, which is less while many of them are there on HTTP/2.
func (x *exchange) patience(usual time.Duration) time.Duration {
	if x.stranger && x.edge.strangers.Load() > maxStrangers {
		return CrowdedTime
	}
	return usual
}

// meet ends the counting of the request among those of strangers.
func (x *exchange) meet() {
	if x.stranger {
		x.stranger = false
		x.edge.strangers.Add(-1)
	}
}

// depart waits until a stranger's answer is sent: net/http would do so too, once nobody counts the request any more.
func (x *exchange) depart() {
	if x.stranger && x.sent {
		x.Flush()
	}
	x.meet()
}

// Write sends a part of the body. The server drops the body of an answer to HEAD and keeps its
// length in the headers.
func (x *exchange) Write(p []byte) (int, error) {
	if !x.sent {
		x.WriteHeader(http.StatusOK)
	}
	return x.writer.Write(p)
}

// Flush sends what was written so far.
func (x *exchange) Flush() {
	if !x.sent {
		x.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(x.writer).Flush()
}
