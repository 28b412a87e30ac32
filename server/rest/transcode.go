package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

// mountTranscoder puts vanguard in front of the handlers of the REST face. Their codec writes the
// answer, once: vanguard passes its bytes through.
func (e *Edge) mountTranscoder() error {
	services := e.config.Services(
		connect.WithCodec(answerCodec{}),
		connect.WithCompression("gzip", nil, nil),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(e.interceptREST)),
	)
	mounted := make([]*vanguard.Service, len(services))
	for i, s := range services {
		mounted[i] = vanguard.NewService(s.Path, s.Handler)
	}
	transcoder, err := vanguard.NewTranscoder(mounted,
		vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec { return envelopeCodec{} }),
		vanguard.WithDefaultServiceOptions(
			vanguard.WithTargetProtocols(vanguard.ProtocolConnect),
			vanguard.WithTargetCodecs(codecName),
			vanguard.WithNoTargetCompression(),
		),
	)
	if err != nil {
		return fmt.Errorf("rest: %w", err)
	}
	e.transcoder = transcoder
	return nil
}

// serveREST answers a request under /v1, or returns why it is refused.
func (e *Edge) serveREST(x *exchange, r *http.Request, path string) error {
	ctx, err := e.admit(x, r)
	if err != nil {
		return err
	}
	res, id := e.routes.find(path)
	if res == nil {
		return notFound()
	}
	x.route = res.template
	m := res.method(r.Method)
	if m == nil {
		x.writer.Header()["Allow"] = res.allow
		return methodNotAllowed()
	}
	if err := x.principal.Require(m.scope); err != nil {
		return err
	}
	var (
		message proto.Message
		invalid *wire.Invalid
	)
	read := func() (err error) {
		message, invalid, err = m.decode(x, r, id)
		return err
	}
	if m.hasBody {
		err = e.door.outside(r.Context(), x, read)
	} else {
		err = read()
	}
	if err != nil {
		return err
	}
	if invalid != nil {
		return e.invalid(ctx, message, invalid)
	}
	return e.transcode(ctx, x, r, m, message)
}

// invalid returns the refusal of a request that did not decode: the rules have their say first,
// for some of them come before the fields and others add to them.
func (e *Edge) invalid(ctx context.Context, message proto.Message, invalid *wire.Invalid) error {
	if err := e.config.Check(ctx, message, invalid); err != nil {
		return err
	}
	return apierr.Invalid(invalid.Message, invalid.Fields...)
}

// transcode passes the decoded request on. Vanguard gets the method's address and nothing of the
// client's: no header, query or body that could mean something to it or to Connect.
func (e *Edge) transcode(ctx context.Context, x *exchange, r *http.Request, m *method, message proto.Message) error {
	x.message = message
	if !m.safe {
		ctx = tenant.WithRequest(ctx, &x.request)
	}
	inner := r.WithContext(ctx)
	inner.Method = m.verb
	inner.URL = &url.URL{Path: m.stand}
	inner.Header = make(http.Header, 2)
	inner.Trailer = nil
	inner.TransferEncoding = nil
	inner.Body = http.NoBody
	inner.ContentLength = 0

	x.transcoding = true
	e.transcoder.ServeHTTP(x, inner)
	x.transcoding = false
	switch {
	case x.refusal != nil:
		return x.refusal
	case !x.sent:
		return fmt.Errorf("%s: answered %d without a refusal", m.procedure, x.status)
	default:
		return nil
	}
}

// interceptREST gives the call the message that the edge decoded, and the edge the refusal that
// the call ends with.
func (e *Edge) interceptREST(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		x := exchangeOf(ctx)
		proto.Merge(call.Any().(proto.Message), x.message)
		answer, err := e.guard(ctx, call, nil, next)
		if err != nil {
			x.refusal = apierr.In(ctx, err, e.config.Unreachable)
			return nil, connect.NewError(x.refusal.ConnectCode(), x.refusal)
		}
		return answer, nil
	}
}

// guard runs the handler; a panic in it is an error. The handler has no request that did not
// decode.
func (e *Edge) guard(ctx context.Context, call connect.AnyRequest, invalid *wire.Invalid, next connect.UnaryFunc) (answer connect.AnyResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			answer, err = nil, panicked(v)
		}
	}()
	if invalid != nil {
		return nil, e.invalid(ctx, call.Any().(proto.Message), invalid)
	}
	x := exchangeOf(ctx)
	answer, err = next(x.work(ctx), call)
	// What is left is to write the answer, which a slow reader may draw out.
	x.leave()
	return answer, err
}

const codecName = "json"

// answerCodec is the codec of the handlers behind vanguard: it writes the specification's JSON
// and reads nothing, because the interceptor brings the request.
type answerCodec struct{}

func (answerCodec) Name() string { return codecName }

func (answerCodec) Marshal(m any) ([]byte, error) {
	return wire.Marshal(m.(proto.Message)), nil
}

func (answerCodec) MarshalAppend(b []byte, m any) ([]byte, error) {
	return wire.Append(b, m.(proto.Message)), nil
}

func (answerCodec) Unmarshal([]byte, any) error { return nil }

// envelopeCodec is vanguard's side of the same: the request it makes up is empty, and what it
// says of an error is replaced by the edge.
type envelopeCodec struct{}

func (envelopeCodec) Name() string { return codecName }

func (envelopeCodec) MarshalAppend(b []byte, _ proto.Message) ([]byte, error) {
	return append(b, "{}"...), nil
}

func (envelopeCodec) Unmarshal([]byte, proto.Message) error { return nil }
