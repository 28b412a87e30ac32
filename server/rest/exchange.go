package rest

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/overload"
)

type exchangeKey struct{}

// exchange is one request and its answer: what the edge learns on the way in, what the
// interceptor and the handler have to tell the edge on the way out, and the writer that keeps
// the answer in shape. It belongs to the request's goroutine.
type exchange struct {
	writer http.ResponseWriter
	edge   *Edge

	id      [1]string // as a header value
	request tenant.Request
	span    trace.Span // nil while there are no traces
	start   time.Time
	method  string
	address netip.Addr
	face    Face
	route   string

	principal auth.Principal
	// party is whose slot the request holds since admitted, which is zero when it holds none.
	party    overload.Party
	admitted time.Time
	// shed tells that the request was refused for want of a slot.
	shed bool
	// working is set once there is a context of the work, and stop ends all of them.
	working bool
	stop    []func()
	// message is the decoded request of the REST face.
	message proto.Message
	// refusal is why the request was refused, nil if it was not.
	refusal *apierr.Refusal
	created bool

	// transcoding is set while vanguard writes: its headers are replaced, its errors dropped.
	transcoding bool
	dropped     bool
	sent        bool
	status      int
}

// exchangeOf returns the exchange that the context belongs to, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Created says that the answer is 201 instead of 200 on the REST face. On the other faces, and
// outside a request, it does nothing. It must be called from the request's own goroutine.
func Created(ctx context.Context) {
	if x := exchangeOf(ctx); x != nil {
		x.created = true
	}
}

// Header returns the headers of the answer.
func (x *exchange) Header() http.Header { return x.writer.Header() }

// WriteHeader sends the status and the headers. On the REST face an error status is held back,
// for the edge to answer in its own words.
func (x *exchange) WriteHeader(status int) {
	if x.sent || x.dropped {
		return
	}
	if !x.transcoding {
		if status >= 200 {
			x.sent, x.status = true, status
		}
		x.writer.WriteHeader(status)
		return
	}
	if status != http.StatusOK {
		x.dropped, x.status = true, status
		return
	}
	if x.created {
		status = http.StatusCreated
	}
	h := x.writer.Header()
	length := h["Content-Length"]
	x.keepOwnHeaders()
	h["Content-Type"] = contentTypeJSON
	if length != nil {
		h["Content-Length"] = length
	}
	x.sent, x.status = true, status
	x.writer.WriteHeader(status)
}

// Write sends a part of the body. That of an answer to HEAD is dropped by the server, which keeps
// the length it has in the headers.
func (x *exchange) Write(p []byte) (int, error) {
	if !x.sent && !x.dropped {
		x.WriteHeader(http.StatusOK)
	}
	if x.dropped {
		return len(p), nil
	}
	return x.writer.Write(p)
}

// Flush sends what was written so far. The REST face does not stream, and is spared the
// system call.
func (x *exchange) Flush() {
	if x.transcoding || x.dropped {
		return
	}
	if !x.sent {
		x.WriteHeader(http.StatusOK)
	}
	if f, ok := x.writer.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap returns the writer beneath, for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.writer }
