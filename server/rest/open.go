package rest

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// The bounds of what is read of those who need no key: the name of a service or of a symbol. Fifty
// of them at once must cost next to nothing.
const (
	maxOpenBytes   = 4 << 10
	maxOpenStreams = 64
	openUnaryTime  = time.Second
	openStreamTime = 10 * time.Second // between two messages
)

// openBounds are those of a call of one message, streamBounds those of a stream.
var (
	openBounds   = message.Bounds{Bytes: maxOpenBytes, Within: openUnaryTime}
	streamBounds = message.Bounds{Bytes: maxOpenBytes, Within: openStreamTime}
)

// Open is a procedure of a service that needs no key, such as health.
type Open struct {
	// Procedure is its exact path, such as /grpc.health.v1.Health/Check.
	Procedure string
	Kind      message.Kind
	// Handler is a Connect handler made with the options for the kind.
	Handler http.Handler
}

// OpenOptions returns what a handler of an open procedure is made with.
type OpenOptions func(message.Kind) []connect.HandlerOption

// mountOpen makes the handlers of the procedures that need no key.
func (e *Edge) mountOpen() {
	e.open = map[string]*Open{}
	if e.config.Public == nil {
		return
	}
	for _, o := range e.config.Public(e.openOptions) {
		e.open[o.Procedure] = &o
	}
}

// openOptions has the handlers read little, compress nothing, for that takes a megabyte a call, and
// fail in the words of the service.
func (e *Edge) openOptions(kind message.Kind) []connect.HandlerOption {
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(maxOpenBytes), connect.WithCompression("gzip", nil, nil), connect.WithInterceptors(openInterceptor{e}),
	}
	if kind == message.Unary {
		options = append(options, connect.WithCodec(wire.Codec{}), connect.WithCodec(wire.CharsetCodec{}), connect.WithCodec(wire.BinaryCodec{}))
	}
	return options
}

// serveOpen answers a call of an open procedure, or returns why it is refused.
func (e *Edge) serveOpen(x *exchange, r *http.Request, o *Open) error {
	r, stop, malformed := message.Deadline(r)
	defer stop()
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	if err := e.answerOpen(x, r.WithContext(ctx), o, malformed); err != nil {
		return apierr.In(ctx, err, e.config.Unreachable)
	}
	return nil
}

func (e *Edge) answerOpen(x *exchange, r *http.Request, o *Open, malformed error) error {
	if r.Method != http.MethodPost {
		x.face = FaceNone
		x.writer.Header()["Allow"] = []string{"POST"}
		return methodNotAllowed()
	}
	if malformed != nil {
		return malformed
	}
	if err := x.checkCall(r, o.Kind); err != nil {
		return err
	}
	if o.Kind != message.Bidi {
		inner, release, err := openBounds.Read(x.writer, r)
		if err != nil {
			return err
		}
		defer release()
		o.Handler.ServeHTTP(x, inner)
		return nil
	}
	defer e.streams.Add(-1)
	if e.streams.Add(1) > maxOpenStreams {
		return apierr.New(apierr.Unavailable, "Too many streams are open; try again later.")
	}
	o.Handler.ServeHTTP(x, streamBounds.Stream(x.writer, r, func(err error) error {
		x.refusal = apierr.In(r.Context(), err, e.config.Unreachable)
		return x.callError()
	}))
	return nil
}

// openInterceptor puts the errors of handlers that are not ours into the words of the service.
type openInterceptor struct{ edge *Edge }

// WrapUnary refuses what did not decode, and words the handler's error.
func (i openInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (answer connect.AnyResponse, err error) {
		if invalid := wire.TakeInvalid(call.Any().(proto.Message)); invalid != nil {
			return nil, i.word(ctx, apierr.Invalid(invalid.Message, invalid.Fields...))
		}
		if answer, err = i.edge.guard(ctx, call, nil, next); err != nil {
			return nil, i.word(ctx, err)
		}
		return answer, nil
	}
}

// WrapStreamingHandler words the handler's error.
func (i openInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = i.word(ctx, panicked(v))
			}
		}()
		if err := next(ctx, conn); err != nil {
			return i.word(ctx, err)
		}
		return nil
	}
}

// WrapStreamingClient is for clients, and does nothing.
func (openInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// word returns the refusal that an error stands for as an error of the typed protocols. What the
// body's reader refused comes back through the handler and stays what it is.
func (i openInterceptor) word(ctx context.Context, err error) error {
	x := exchangeOf(ctx)
	if x.refusal == nil {
		x.refusal = apierr.In(ctx, openBounds.Foreign(err), i.edge.config.Unreachable)
	}
	return x.callError()
}
