package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// call is a method on the RPC faces.
type call struct {
	method  *method
	handler http.Handler
	allow   []string
}

// mountCalls makes the handlers of the RPC faces and returns the methods of all services.
func (e *Edge) mountCalls() ([]*method, error) {
	services := e.config.Services(
		connect.WithCodec(wire.Codec{}),
		connect.WithCodec(wire.CharsetCodec{}),
		connect.WithCodec(wire.BinaryCodec{}),
		connect.WithReadMaxBytes(MaxBodyBytes),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(e.interceptCall)),
	)
	e.calls = map[string]*call{}
	var all []*method
	for _, s := range services {
		methods, err := newMethods(s.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, methods...)
		for _, m := range methods {
			c := &call{method: m, handler: s.Handler, allow: []string{"POST"}}
			if m.safe {
				c.allow = []string{"GET, POST"}
			}
			e.calls[m.procedure] = c
		}
	}
	return all, nil
}

// callBounds are those of a call with a key.
var callBounds = message.Bounds{Bytes: MaxBodyBytes}

// serveCall answers a call on one of the RPC faces, or returns why it is refused.
func (e *Edge) serveCall(x *exchange, r *http.Request, c *call) error {
	r, stop, malformed := message.Deadline(r)
	defer stop()
	if err := e.answerCall(x, r, c, malformed); err != nil {
		return apierr.In(r.Context(), err, e.config.Unreachable)
	}
	return nil
}

func (e *Edge) answerCall(x *exchange, r *http.Request, c *call, malformed error) error {
	ctx, err := e.admit(x, r)
	if err != nil {
		return err
	}
	if r.Method != http.MethodPost && (r.Method != http.MethodGet || !c.method.safe) {
		x.face = FaceNone
		x.writer.Header()["Allow"] = c.allow
		return methodNotAllowed()
	}
	if err := x.principal.Require(c.method.scope); err != nil {
		return err
	}
	if malformed != nil {
		return malformed
	}
	if err := x.checkCall(r, message.Unary); err != nil {
		return err
	}
	if !c.method.safe {
		ctx = tenant.WithRequest(ctx, &x.request)
	}
	var (
		inner   *http.Request
		release func()
	)
	err = e.door.outside(r.Context(), x, func() (err error) {
		inner, release, err = callBounds.Read(x.writer, r.WithContext(ctx))
		return err
	})
	if release != nil {
		defer release()
	}
	if err != nil {
		return err
	}
	c.handler.ServeHTTP(x, inner)
	return nil
}

// checkCall refuses what Connect would refuse in its own words. A type that no protocol has is
// refused in the words of none.
func (x *exchange) checkCall(r *http.Request, kind message.Kind) error {
	err := message.Check(x.writer, r, kind)
	var refused *apierr.Refusal
	if errors.As(err, &refused) && refused.Code == apierr.UnsupportedMediaType && refused.Protocol == 0 {
		x.face = FaceNone
	}
	return err
}

// faceOf is the protocol that a call is made in, by its Content-Type, Connect being what is
// neither of the others.
func faceOf(r *http.Request) Face {
	contentType := r.Header.Get("Content-Type")
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodGet:
		return FaceNone
	case hasType(contentType, "application/grpc-web"):
		return FaceGRPCWeb
	case hasType(contentType, "application/grpc"):
		return FaceGRPC
	default:
		return FaceConnect
	}
}

// hasType tells whether a Content-Type is the base, in any case, or a format of it, such as
// base+proto.
func hasType(contentType, base string) bool {
	if len(contentType) < len(base) || !strings.EqualFold(contentType[:len(base)], base) {
		return false
	}
	rest := contentType[len(base):]
	return rest == "" || rest[0] == '+' || rest[0] == ';' || rest[0] == ' '
}

// interceptCall has the decoder's refusals and the rules answered before the handler runs, and
// every error put into the words of the RPC faces.
func (e *Edge) interceptCall(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		x := exchangeOf(ctx)
		invalid := wire.TakeInvalid(call.Any().(proto.Message))
		answer, err := e.guard(ctx, call, invalid, next)
		if err != nil {
			x.refusal = apierr.In(ctx, err, e.config.Unreachable)
			x.setRefusalHeaders()
			return nil, x.callError()
		}
		return answer, nil
	}
}

// writeCallError answers a call with the exchange's refusal before a handler has run. Connect would
// make a map of the query, of whatever size it is, to learn the protocol of a GET.
func (e *Edge) writeCallError(x *exchange, r *http.Request) {
	x.setRefusalHeaders()
	if r.URL.RawQuery != "" {
		r = r.WithContext(r.Context())
		r.URL = &url.URL{Path: r.URL.Path}
	}
	_ = e.errors.Write(x, r, x.callError())
}

// callError is the refusal as an error of the RPC faces.
func (x *exchange) callError() *connect.Error {
	return x.refusal.Connect(x.id[0], x.edge.config.Now())
}
