package rest

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/refusal"
)

// envelopeBytes is what gRPC puts before a message: a flag and the length.
const envelopeBytes = 5

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

// serveCall answers a call on one of the RPC faces, or returns why it is refused.
func (e *Edge) serveCall(x *exchange, r *http.Request, c *call) error {
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
	if err := checkCall(r); err != nil {
		x.face = FaceNone
		return err
	}
	limit, prefix := int64(MaxBodyBytes), 0
	if x.face != FaceConnect {
		limit, prefix = MaxBodyBytes+envelopeBytes, envelopeBytes
	}
	if r.ContentLength > limit {
		return tooLarge()
	}
	if !c.method.safe {
		ctx = tenant.WithRequest(ctx, &x.request)
	}
	inner := r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		inner.Body = &callBody{ReadCloser: http.MaxBytesReader(x.writer, r.Body, limit), exchange: x, prefix: prefix}
	}
	c.handler.ServeHTTP(x, inner)
	return nil
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

// hasType tells whether a Content-Type is the base or a format of it, such as base+proto.
func hasType(contentType, base string) bool {
	rest, ok := strings.CutPrefix(contentType, base)
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';' || rest[0] == ' ')
}

// callTypes are the types of a call's body, and whether they have a charset.
var callTypes = map[string]bool{
	"application/json":           true,
	"application/proto":          false,
	"application/grpc":           false,
	"application/grpc+proto":     false,
	"application/grpc+json":      true,
	"application/grpc-web":       false,
	"application/grpc-web+proto": false,
	"application/grpc-web+json":  true,
}

// checkCall refuses what Connect would refuse with an answer of no face: a body of a type that no
// protocol has, and a GET that is not a Connect call.
func checkCall(r *http.Request) error {
	if r.Method == http.MethodGet {
		query := r.URL.Query()
		if format := query.Get("encoding"); (format != "json" && format != "proto") || r.ContentLength != 0 {
			return unsupportedMediaType("A call by GET has encoding=json or encoding=proto and message in its query, and no body.")
		}
		return checkCompression(query.Get("compression"))
	}
	contentType := r.Header.Get("Content-Type")
	base, parameters, err := mime.ParseMediaType(contentType)
	text, known := callTypes[base]
	if err != nil || !known || len(r.Header["Content-Type"]) != 1 {
		return unsupportedMediaType("The body's Content-Type is of none of the protocols Connect, gRPC and gRPC-Web.")
	}
	for name, value := range parameters {
		if !text || name != "charset" || !strings.EqualFold(value, "utf-8") {
			return unsupportedMediaType("The body's Content-Type has a parameter that is not supported.")
		}
	}
	if strings.HasPrefix(base, "application/grpc") {
		return nil // has its own header for it, and its own answer
	}
	return checkCompression(r.Header.Get("Content-Encoding"))
}

func checkCompression(name string) error {
	if slices.Contains([]string{"", "identity", "gzip"}, name) {
		return nil
	}
	return unsupportedMediaType("The message is compressed in another way than gzip.")
}

// interceptCall has the decoder's refusals and the rules answered before the handler runs, and
// every error put into the words of the RPC faces.
func (e *Edge) interceptCall(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		x := exchangeOf(ctx)
		invalid := wire.TakeInvalid(call.Any().(proto.Message))
		answer, err := e.guard(ctx, call, invalid, next)
		if err != nil {
			x.refusal = refusal.Of(err, e.config.Unreachable)
			return nil, x.callError()
		}
		return answer, nil
	}
}

// writeCallError answers a call with the exchange's refusal before a handler has run.
func (e *Edge) writeCallError(x *exchange, r *http.Request) {
	x.setRefusalHeaders()
	_ = e.errors.Write(x, r, x.callError())
}

// callError is the refusal as an error of the RPC faces.
func (x *exchange) callError() *connect.Error {
	return x.refusal.Connect(x.id[0], x.edge.config.Now())
}

// callBody is the body of a call. What is wrong with it as a whole, its size or its end, is said
// in the same words as every other refusal, which Connect passes through; what Connect finds
// itself it would say without our detail.
type callBody struct {
	io.ReadCloser
	exchange *exchange
	// prefix is how many bytes are left of what gRPC puts before the message, size the message's
	// length as far as it was read.
	prefix int
	size   uint32
}

func (b *callBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for i := 0; i < n && b.prefix > 0; i++ {
		if b.prefix--; b.prefix < 4 {
			b.size = b.size<<8 | uint32(p[i])
		}
	}
	var large *http.MaxBytesError
	switch {
	case b.size > MaxBodyBytes && b.prefix == 0, errors.As(err, &large):
		return 0, b.refuse(tooLarge())
	case err != nil && err != io.EOF: //nolint:errorlint // Read's contract is io.EOF itself.
		return n, b.refuse(refusal.Invalid("The body could not be read to its end."))
	default:
		return n, err
	}
}

func (b *callBody) refuse(err error) error {
	b.exchange.refusal = refusal.Of(err, b.exchange.edge.config.Unreachable)
	return b.exchange.callError()
}
