package edge

import (
	"context"
	"net/http"
	"net/netip"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/httplog"
	"go.storefront.example/server/limit"
)

type exchangeKey struct{}

// exchange is one request and its answer. Only the request's goroutine uses it.
type exchange struct {
	httplog.Exchange
	incoming *http.Request
	edge     *Edge

	address  netip.Addr
	protocol Protocol

	principal auth.Principal
	rate      limit.Rate
	// method is nil until it is found.
	method  *method
	created bool
}

// exchangeOf returns the context's exchange, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Created makes the answer under /v1 have status 201, and does nothing elsewhere. Call it from the request's own goroutine.
func Created(ctx context.Context) {
	if x := exchangeOf(ctx); x != nil {
		x.created = true
	}
}

// WriteHeader adds the headers that every answer has.
func (x *exchange) WriteHeader(status int) {
	if x.Status != 0 {
		return
	}
	if x.Refusal == nil && x.method != nil {
		switch status { // with these two statuses Connect sends no error body
		case http.StatusMethodNotAllowed:
			x.Refusal = methodNotAllowed()
		case http.StatusUnsupportedMediaType:
			x.Refusal = apierr.New(apierr.UnsupportedMediaType, "The body's Content-Type is of none of the protocols Connect, gRPC and "+
				"gRPC-Web.")
		}
		if x.Refusal != nil {
			x.protocol = ProtocolNone
			delete(x.Header(), "Accept-Post")
			x.edge.refuse(x, x.Refusal)
			return
		}
	}
	if status >= 200 {
		x.setHeaders()
	}
	x.Exchange.WriteHeader(status)
}

// Write leaves the body of a HEAD request's answer to net/http, which sends only its length.
func (x *exchange) Write(p []byte) (int, error) {
	if x.Status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	return x.ResponseWriter.Write(p)
}

func (x *exchange) Flush() {
	if x.Status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(x.ResponseWriter).Flush()
}
