package rest

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// The bounds of requests without a key, whose message is the name of a service or a symbol. Fifty
// of them at once must cost next to nothing.
const (
	maxOpenBytes   = 4 << 10
	maxOpenStreams = 64
	openUnaryTime  = time.Second
	openStreamTime = 10 * time.Second // between two messages
)

// openBounds are the bounds of a call with one message, streamBounds those of a stream.
var (
	openBounds   = message.Bounds{Bytes: maxOpenBytes, Within: openUnaryTime}
	streamBounds = message.Bounds{Bytes: maxOpenBytes, Within: openStreamTime}
)

// Open is a procedure of a service that needs no key, such as health.
type Open struct {
	// Procedure is its exact path, such as /grpc.health.v1.Health/Check.
	Procedure string
	Kind      message.Kind
	// Handler is a Connect handler made with the options for its kind.
	Handler http.Handler
}

// OpenOptions returns the options for the handler of an open procedure.
type OpenOptions func(message.Kind) []connect.HandlerOption

// mountOpen builds the handlers of the procedures that need no key.
func (e *Edge) mountOpen() {
	if e.config.Public == nil {
		return
	}
	for _, o := range e.config.Public(e.openOptions) {
		e.methods[o.Procedure] = &method{procedure: o.Procedure, kind: o.Kind, bounds: openBounds, handler: o.Handler}
	}
}

// openOptions makes the handlers read little, return refusals, and compress nothing, because that
// takes a megabyte a call.
func (e *Edge) openOptions(kind message.Kind) []connect.HandlerOption {
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(maxOpenBytes), connect.WithCompression("gzip", nil, nil), connect.WithInterceptors(openInterceptor{e}),
	}
	if kind == message.Unary {
		options = append(options, connect.WithCodec(wire.Codec{}), connect.WithCodec(wire.CharsetCodec{}), connect.WithCodec(wire.BinaryCodec{}))
	}
	return options
}

// serveStream answers a call with any number of messages.
func (e *Edge) serveStream(x *exchange, r *http.Request, m *method) error {
	defer e.streams.Add(-1)
	if e.streams.Add(1) > maxOpenStreams {
		return apierr.New(apierr.Unavailable, "Too many streams are open; try again later.")
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.streaming, cancel)()
	m.handler.ServeHTTP(x, streamBounds.Stream(x.writer, r.WithContext(ctx), func(err error) error {
		if e.streaming.Err() != nil {
			err = apierr.New(apierr.Unavailable, "The service is stopping; try again.")
		}
		x.refusal = apierr.In(r.Context(), err, e.config.Unreachable)
		return x.callError()
	}))
	return nil
}

// openInterceptor converts the errors of third-party handlers to our refusals.
type openInterceptor struct{ edge *Edge }

// WrapUnary does for these handlers what intercept does for the API's own.
func (i openInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return i.edge.intercept(func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		answer, err := next(ctx, call)
		if err != nil {
			return nil, openBounds.Foreign(err)
		}
		return answer, nil
	})
}

// WrapStreamingHandler converts the handler's error to a refusal. A refusal of the body's reader
// that comes back through the handler stays as it is.
func (i openInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		x := exchangeOf(ctx)
		defer func() {
			if v := recover(); v != nil {
				err = apierr.Panic(v)
			}
			if err != nil && x.refusal == nil {
				x.refusal = apierr.In(ctx, openBounds.Foreign(err), i.edge.config.Unreachable)
			}
			if err != nil {
				err = x.callError()
			}
		}()
		return next(ctx, conn)
	}
}

// WrapStreamingClient is for clients, and does nothing.
func (openInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
