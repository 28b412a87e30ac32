package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/compress"
)

// mountTranscoder builds vanguard with its own set of handlers.
func (e *Edge) mountTranscoder() error {
	services := e.config.Services(
		connect.WithCodec(handlerCodec{strict}),
		connect.WithCompression("gzip", nil, nil),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(e.intercept)),
	)
	mounted := make([]*vanguard.Service, len(services))
	for i, s := range services {
		mounted[i] = vanguard.NewService(s.Path, e.routed(s.Handler))
	}
	transcoder, err := vanguard.NewTranscoder(mounted,
		vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec { return clientCodec{} }),
		vanguard.WithDefaultServiceOptions(
			vanguard.WithTargetProtocols(vanguard.ProtocolConnect),
			vanguard.WithTargetCodecs(clientCodec{}.Name()),
			vanguard.WithNoTargetCompression(),
		),
	)
	if err != nil {
		return fmt.Errorf("rest: %w", err)
	}
	e.transcoder = transcoder
	return nil
}

// literally escapes a path so that vanguard takes it as it is: it unescapes variables, and treats a
// colon as the end of a path. No valid identifier contains an escape, so a client's escape matches
// nothing.
var literally = strings.NewReplacer("%", "%25", ":", "%3A")

// serveREST answers a request under /v1, or returns why it is refused. Vanguard gets the client's
// method, path and body, and nothing else that it or Connect could interpret: no header, and no
// query, which the interceptor reads.
func (e *Edge) serveREST(x *exchange, r *http.Request, where string) error {
	ctx, err := e.admit(x, r)
	if err != nil {
		x.route = e.templateOf(r.Method, where)
		return err
	}
	if path.Clean(where) != where {
		return notFound() // vanguard would accept a dot or an empty identifier
	}
	x.query = r.URL.RawQuery
	inner := r.WithContext(ctx)
	if inner.Method == http.MethodHead {
		inner.Method = http.MethodGet
	}
	inner.URL = &url.URL{Path: literally.Replace(strings.ToValidUTF8(where, "%"))}
	inner.Header, inner.Trailer, inner.TransferEncoding = http.Header{}, nil, nil
	inner.Body, inner.ContentLength = io.NopCloser(&x.body), -1

	w := &transcoded{exchange: x, header: http.Header{}}
	e.transcoder.ServeHTTP(w, inner)
	switch {
	case x.refusal != nil:
		return x.refusal
	case w.status == http.StatusNotFound:
		return notFound()
	case w.status == http.StatusMethodNotAllowed:
		x.refusal = methodNotAllowed()
		allowed := strings.Split(w.header.Get("Allow"), ",")
		inner.Method = allowed[0]
		e.transcoder.ServeHTTP(w, inner) // only to find the route: routed stops there
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		x.writer.Header()["Allow"] = []string{strings.Join(allowed, ", ")}
		return x.refusal
	case !x.sent:
		return fmt.Errorf("%s: vanguard answered %d without a refusal", x.route, w.status)
	default:
		return nil
	}
}

// templateOf returns the template of a request that is refused before vanguard sees it, so that the owner of its key
// finds out which request it was.
func (e *Edge) templateOf(verb, where string) string {
	if path.Clean(where) != where {
		return unmatched
	}
	if verb == http.MethodHead {
		verb = http.MethodGet
	}
	for _, m := range e.methods {
		if m.verb == verb && matches(m.template, where) {
			return m.template
		}
	}
	return unmatched
}

// matches reports whether a path has the form of a template: the same segments, and anything but nothing for {id}.
func matches(template, where string) bool {
	for {
		want, wants, more := strings.Cut(template, "/")
		given, gives, others := strings.Cut(where, "/")
		if more != others || want != given && (given == "" || !strings.HasPrefix(want, "{")) {
			return false
		}
		if !more {
			return true
		}
		template, where = wants, gives
	}
}

// routed is the handler that vanguard calls once it has found the method, before it reads the body.
// It checks the scope and the body. A panic must not pass through vanguard, which would answer 200.
func (e *Edge) routed(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		defer func() {
			if v := recover(); v != nil {
				x.refusal = apierr.In(r.Context(), apierr.Panic(v), e.config.Unreachable)
			}
		}()
		x.method = e.methods[r.URL.Path]
		x.route = x.method.template
		if x.refusal != nil {
			return
		}
		release, err := e.accept(x)
		defer release()
		if err != nil {
			x.refusal = apierr.In(x.incoming.Context(), err, e.config.Unreachable)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// intercept wraps the handlers of all protocols, and keeps a call's refusal for the edge.
func (e *Edge) intercept(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, call connect.AnyRequest) (connect.AnyResponse, error) {
		x := exchangeOf(ctx)
		answer, err := e.handle(ctx, x, call, next)
		if err == nil {
			return answer, nil
		}
		x.refusal = apierr.In(ctx, err, e.config.Unreachable)
		if x.protocol == ProtocolREST {
			return nil, connect.NewError(x.refusal.ConnectCode(), x.refusal) // the edge writes its own body
		}
		x.setRefusalHeaders()
		return nil, x.callError()
	}
}

// handle runs the handler and converts a panic to an error. A request with fields that could not be
// decoded does not reach the handler. It is refused by Config.Check, if that returns an error: one whose
// code comes first, or one that lists further fields. Otherwise it is refused for its fields.
func (e *Edge) handle(ctx context.Context, x *exchange, call connect.AnyRequest, next connect.UnaryFunc) (answer connect.AnyResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			answer, err = nil, apierr.Panic(v)
		}
	}()
	m := call.Any().(proto.Message)
	if invalid := x.problems(m); invalid != nil {
		if x.method.scope != "" {
			if err := e.config.Check(ctx, m, invalid); err != nil {
				return nil, err
			}
		}
		return nil, apierr.Invalid(invalid.Message, invalid.Fields...)
	}
	if !x.method.safe {
		ctx = tenant.WithRequest(ctx, &x.request)
	}
	if x.method.scope == "" {
		return next(ctx, call)
	}
	search, ok := m.(interface{ GetQ() string })
	giveBack, err := e.config.Slots.Take(ctx, x.principal.Store.ID, ok && search.GetQ() != "")
	if err != nil {
		return nil, err
	}
	defer giveBack()
	return next(ctx, call)
}

// transcoded is the writer for vanguard, which answers once and whole. The headers are the edge's
// own, the status may be 201, and the edge writes errors.
type transcoded struct {
	*exchange
	header http.Header
	status int
}

// Header returns the headers that vanguard and Connect set.
func (w *transcoded) Header() http.Header { return w.header }

// WriteHeader keeps the status, for Write.
func (w *transcoded) WriteHeader(status int) { w.status = status }

// compressedBytes is the size of the smallest answer that is compressed for a client that accepts
// it: about what fits into one packet anyway gains nothing.
const compressedBytes = 1024

// Write sends the answer of a request that was served.
func (w *transcoded) Write(p []byte) (int, error) {
	if w.status != http.StatusOK || w.refusal != nil {
		return len(p), nil
	}
	if len(p) >= compressedBytes {
		w.writer.Header()["Vary"] = varyEncoding
		if w.incoming.Method != http.MethodHead && compress.Accepted(w.incoming.Header) {
			w.writer.Header()["Content-Encoding"] = gzipped
			return len(p), compress.Gzip(p, w.send)
		}
	}
	return len(p), w.send(p)
}

// send sends the headers and the body.
func (w *transcoded) send(body []byte) error {
	h := w.writer.Header()
	h["Content-Type"], h["Content-Length"] = contentTypeJSON, number(len(body))
	if w.created {
		w.exchange.WriteHeader(http.StatusCreated)
	}
	_, err := w.exchange.Write(body)
	return err
}

// Flush does nothing: /v1 does not stream, and this saves a system call.
func (w *transcoded) Flush() {}
