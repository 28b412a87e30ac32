package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// mountCalls builds the handlers of the typed protocols and reads the methods of all services.
func (e *Edge) mountCalls() error {
	services := e.config.Services(
		connect.WithCodec(wire.Codec{}),
		connect.WithCodec(wire.CharsetCodec{}),
		connect.WithCodec(wire.BinaryCodec{}),
		connect.WithReadMaxBytes(MaxBodyBytes),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(e.intercept)),
	)
	for _, s := range services {
		if err := readMethods(s, e.methods); err != nil {
			return err
		}
	}
	return nil
}

// serveCall answers a call in one of the typed protocols, or returns why it is refused. malformed
// is the error of the caller's deadline, if any.
func (e *Edge) serveCall(x *exchange, r *http.Request, m *method, malformed error) (err error) {
	x.method = m
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	if m.scope != "" {
		if ctx, err = e.admit(x, r); err != nil {
			return err
		}
	}
	if r.Method != http.MethodPost && (r.Method != http.MethodGet || !m.safe) {
		x.protocol = ProtocolNone
		x.writer.Header()["Allow"] = []string{"POST"}
		if m.safe {
			x.writer.Header()["Allow"] = []string{"GET, POST"}
		}
		return methodNotAllowed()
	}
	if m.scope != "" {
		if err := x.principal.Require(m.scope); err != nil {
			return err
		}
	}
	if malformed != nil {
		return malformed
	}
	if err := x.checkCall(r, m.kind); err != nil {
		return err
	}
	if m.kind == message.Bidi {
		return e.serveStream(x, r.WithContext(ctx), m)
	}
	var (
		inner   *http.Request
		release = func() {}
		bounds  = m.bounds
	)
	inner, release, err = bounds.Read(x.writer, r.WithContext(ctx))
	defer release()
	if err != nil {
		return err
	}
	m.handler.ServeHTTP(x, inner)
	return nil
}

// checkCall refuses what Connect would refuse in its own words. A content type of no protocol is
// answered in plain HTTP.
func (x *exchange) checkCall(r *http.Request, kind message.Kind) error {
	err := message.Check(x.writer, r, kind)
	if refused, ok := errors.AsType[*apierr.Refusal](err); ok && refused.Code == apierr.UnsupportedMediaType && refused.Protocol == 0 {
		x.protocol = ProtocolNone
	}
	return err
}

// protocolOf returns the protocol of a call, by its Content-Type: Connect unless it is one of the
// others.
func protocolOf(r *http.Request) Protocol {
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		return ProtocolNone
	}
	base := strings.ToLower(r.Header.Get("Content-Type"))
	if i := strings.IndexAny(base, "+; "); i >= 0 {
		base = base[:i]
	}
	switch base {
	case "application/grpc-web":
		return ProtocolGRPCWeb
	case "application/grpc":
		return ProtocolGRPC
	default:
		return ProtocolConnect
	}
}

// writeCallError answers a call with the exchange's refusal before a handler has run. Connect's own
// writer would parse the whole query into a map to find out the protocol of a GET.
func (e *Edge) writeCallError(x *exchange, r *http.Request) {
	if r.URL.RawQuery != "" {
		r = r.WithContext(r.Context())
		r.URL = &url.URL{Path: r.URL.Path}
	}
	_ = e.errors.Write(x, r, x.callError())
}

// callError returns the refusal as an error of the typed protocols.
func (x *exchange) callError() *connect.Error {
	return x.refusal.Connect(x.id[0], x.edge.config.Now())
}
