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
	"go.storefront.example/server/overload"
)

type exchangeKey struct{}

// exchange is one request and its answer: what the edge finds out on the way in, what the
// interceptor and the handler leave for it on the way out, and the writer of the answer. It belongs
// to the request's goroutine.
type exchange struct {
	writer   http.ResponseWriter
	incoming *http.Request
	edge     *Edge

	id       [1]string // as a header value
	request  tenant.Request
	span     trace.Span // nil while there are no traces
	start    time.Time
	address  netip.Addr
	protocol Protocol
	route    string

	principal auth.Principal
	// party is whose slot the request holds since admitted, which is zero when it holds none.
	party    overload.Party
	admitted time.Time
	// shed is set when the request was refused for want of a slot.
	shed bool
	// working is set once there is a context of the work, and stop ends all of them.
	working bool
	stop    []func()
	// method is the method that is called, once it is known and the request is for a key.
	method *method
	// query and body are what a request under /v1 is decoded from; broken is why there is no body.
	query  string
	body   bytes.Reader
	broken *wire.Invalid
	// refusal is why the request was refused, nil if it was not.
	refusal *apierr.Refusal
	created bool

	sent   bool
	status int
}

// exchangeOf returns the exchange that the context belongs to, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Created makes the answer 201 instead of 200 under /v1. In the other protocols, and outside a
// request, it does nothing. It must be called from the request's own goroutine.
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
	}
	x.writer.WriteHeader(status)
}

// Write sends a part of the body. That of an answer to HEAD is dropped by the server, which keeps
// the length it has in the headers.
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
