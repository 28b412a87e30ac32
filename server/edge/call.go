package edge

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

// maxMessageBytes is a body of MaxBodyBytes, and 1 KiB for what the binary format adds.
const maxMessageBytes = MaxBodyBytes + 1<<10

// maxOpenBytes is for calls that need no key, whose messages have only the name of a service or a symbol.
const maxOpenBytes = 4 << 10

// CallOptions are those of Connect's handlers on both listeners: the API's JSON, and at most maxMessageBytes before and after
// decompression.
func CallOptions(interceptors ...connect.Interceptor) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(apijson.Codec{}), connect.WithReadMaxBytes(maxMessageBytes),
		connect.WithInterceptors(append([]connect.Interceptor{connect.UnaryInterceptorFunc(receive)}, interceptors...)...),
		connect.WithCompression("gzip",
			func() connect.Decompressor { return &limitedReader{} },
			func() connect.Compressor { z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed); return z }),
	}
}

// KeylessOptions are those of handlers that need no key: small messages only, and no compression, so that a caller without a
// key causes little work.
func KeylessOptions(interceptors ...connect.Interceptor) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(maxOpenBytes), connect.WithCompression("gzip", nil, nil), connect.WithInterceptors(interceptors...),
	}
}

// limitedReader ends a message at its largest size. Connect would decompress the rest, to report its size.
type limitedReader struct {
	gzip.Reader
	remaining int64
}

// Reset gives the next message the whole size limit again.
func (b *limitedReader) Reset(r io.Reader) error {
	b.remaining = maxMessageBytes + 1
	return b.Reader.Reset(r)
}

// Read returns io.EOF at the largest size.
func (b *limitedReader) Read(p []byte) (int, error) {
	if b.remaining == 0 {
		return 0, io.EOF
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.remaining)])
	b.remaining -= int64(n)
	return n, err
}

// serveKeyless serves a call that needs no key, unless too many are open.
func (e *Edge) serveKeyless(x *exchange, r *http.Request) error {
	leave, err := e.keyless.Enter(x.address, r.RemoteAddr)
	if err != nil {
		return err
	}
	defer leave()
	stop := context.AfterFunc(e.streaming, func() {
		_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(time.Unix(1, 0)) // a deadline in the past ends the stream
	})
	defer stop()
	x.method.ServeHTTP(x, r)
	return nil
}

// serveCall serves a typed protocol's call, or returns the error with which it is refused.
func (e *Edge) serveCall(x *exchange, r *http.Request) error {
	in := x.method.input.New().Interface()
	r, err := DecodeCall(x.ResponseWriter, r, in)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(x.ResponseWriter, r.Body, maxMessageBytes+prefixBytes)
	x.method.ServeHTTP(x, r)
	return nil
}

// prefixBytes is the length of gRPC's prefix of a message.
const prefixBytes = 5

// intercept wraps the handlers of all protocols. It takes a slot for a call that needs a key, and keeps a refusal for the log.
func (e *Edge) intercept(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		x := exchangeOf(ctx)
		answer, err := e.handle(ctx, x, call, next)
		if err == nil {
			return answer, nil
		}
		x.Refusal = apierr.FromRequest(ctx, err, e.config.Unreachable)
		return nil, x.callError()
	}
}

func (e *Edge) handle(ctx context.Context, x *exchange, call connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
	if invalid := apijson.DecodedOf(ctx).Invalid; invalid != nil {
		return nil, refuseInvalid(ctx, call, next, invalid)
	}
	if x.method.scope != "" {
		search, ok := call.Any().(interface{ GetQ() string })
		release, err := e.config.Slots.Acquire(ctx, x.principal.Store.ID, ok && search.GetQ() != "")
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return next(ctx, call)
}

// refuseInvalid calls the handler, which adds the fields that its rules refuse (validate.NewProblems). It cannot change
// anything, because hook.Run refuses the change.
func refuseInvalid(ctx context.Context, call connect.AnyRequest, next connect.UnaryFunc, invalid *apijson.Invalid) error {
	_, err := next(ctx, call)
	if refused := (*apierr.Refusal)(nil); errors.As(err, &refused) {
		return refused
	}
	return apierr.Invalid(invalid.Message, invalid.Fields...)
}

// receive gives the handler the message that was decoded in front of Connect.
func receive(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		if in := apijson.DecodedOf(ctx).Message; in != nil {
			proto.Merge(call.Any().(proto.Message), in)
		}
		return next(ctx, call)
	}
}

// protocolOf returns Connect unless the Content-Type is another protocol's.
func protocolOf(r *http.Request) Protocol {
	switch base := strings.ToLower(r.Header.Get("Content-Type")); {
	case r.Method != http.MethodPost && r.Method != http.MethodGet:
		return ProtocolNone
	case strings.HasPrefix(base, "application/grpc-web"):
		return ProtocolGRPCWeb
	case strings.HasPrefix(base, "application/grpc"):
		return ProtocolGRPC
	default:
		return ProtocolConnect
	}
}

func (x *exchange) callError() *connect.Error {
	return x.Refusal.Connect(x.Request.ID.String(), x.edge.config.Now())
}
