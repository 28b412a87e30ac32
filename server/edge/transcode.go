package edge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"connectrpc.com/vanguard"
	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// compressedBytes is the size from which compression gains anything: a smaller answer fits into one packet.
const compressedBytes = 1024

// mountTranscoder puts vanguard in front of the typed protocols' handlers. It maps a request under /v1 to a call of Connect in
// JSON, passes the answer through, and writes an error with the codec.
func (e *Edge) mountTranscoder(services []Service) error {
	mounted := make([]*vanguard.Service, len(services))
	for i, s := range services {
		mounted[i] = vanguard.NewService(s.Path, s.Handler)
	}
	transcoder, err := vanguard.NewTranscoder(mounted,
		vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec { return codec{} }),
		vanguard.WithDefaultServiceOptions(
			vanguard.WithTargetProtocols(vanguard.ProtocolConnect),
			vanguard.WithTargetCodecs(apijson.Codec{}.Name()),
			vanguard.WithNoTargetCompression(),
		),
	)
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	e.transcoder = transcoder
	e.compress, err = gzhttp.NewWrapper(gzhttp.MinSize(compressedBytes), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false))
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	return nil
}

// serveREST returns the error with which a request under /v1 is refused. ctx is r's context with the tenant.
func (e *Edge) serveREST(ctx context.Context, x *exchange, r *http.Request, path string) error {
	m := x.method
	if m.hasBody {
		if err := checkMediaType(r.Header); err != nil {
			return err
		}
	}
	body, err := readBody(x.ResponseWriter, r)
	switch {
	case err != nil:
		return err
	case !m.hasBody:
		body = nil
	case len(body) > 0 && len(r.Header["Content-Type"]) == 0:
		return apierr.New(apierr.UnsupportedMediaType, "A body must be sent with Content-Type: application/json.")
	}
	inner := r.WithContext(apijson.WithDecoded(ctx, m.decode(path, r.URL.RawQuery, body)))
	inner.Method = m.verb
	inner.URL = &url.URL{Path: m.template}                      // with the variable's name as its value, which the interceptor replaces
	inner.Header = http.Header{"Content-Type": contentTypeJSON} // no other headers, because vanguard takes the protocol from them
	inner.Trailer, inner.TransferEncoding = nil, nil
	inner.Body, inner.ContentLength = http.NoBody, 0
	if m.hasBody {
		setEmptyBody(inner)
	}
	a := &answer{header: http.Header{}}
	e.transcoder.ServeHTTP(a, inner)
	if x.Refusal == nil && a.status != http.StatusOK {
		// Vanguard gets the method's own address and an empty body, so a refusal is an error of the service.
		return fmt.Errorf("%s: vanguard answered %d: %s", x.Route, a.status, a.body)
	}
	x.send(r, a.body)
	return nil
}

// send sends vanguard's body with status 200, 201 or the refusal's, and none of vanguard's headers. It compresses a large body,
// but no refusal, if the client accepts it.
func (x *exchange) send(r *http.Request, body []byte) {
	h, status := x.Header(), http.StatusOK
	h["Content-Type"], h["Content-Length"] = contentTypeJSON, headerNumber(len(body))
	switch {
	case x.Refusal != nil:
		status = x.Refusal.Status()
	case x.created:
		status = http.StatusCreated
	}
	if x.Refusal != nil || len(body) < compressedBytes {
		x.WriteHeader(status)
		_, _ = x.Write(body)
		return
	}
	if r.Method == http.MethodHead {
		h.Set(gzhttp.HeaderNoCompression, "1")
	}
	large := status // a variable of its own, so that small answers allocate no closure
	x.edge.compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(large)
		_, _ = w.Write(body)
	}))(x, r)
}

// find returns, if the path exists only with other verbs, the method of one of them, and lists the verbs in allow.
func (e *Edge) find(verb, urlPath string) (m *method, allow string) {
	if path.Clean(urlPath) != urlPath || verb == http.MethodConnect {
		return nil, "" // ServeMux would redirect this request
	}
	r := &http.Request{Method: verb, URL: &url.URL{Path: urlPath}} // url.Parse would decode escapes in the path
	handler, pattern := e.routes.Handler(r)
	if pattern != "" {
		return handler.(*method), ""
	}
	missing := &answer{header: http.Header{}}
	handler.ServeHTTP(missing, r)
	if allow = missing.header.Get("Allow"); allow == "" {
		return nil, ""
	}
	r.Method, _, _ = strings.Cut(allow, ",")
	handler, _ = e.routes.Handler(r)
	return handler.(*method), allow
}

type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }
func (a *answer) Flush()                 {} // vanguard needs an http.Flusher

func (a *answer) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

// codec is vanguard's for /v1: it encodes a request for Connect and a handler's error. Answers pass through, because Connect's
// codec has the same name.
type codec struct{ apijson.Codec }

// Unmarshal reads nothing, because the request is decoded already.
func (codec) Unmarshal([]byte, proto.Message) error { return nil }

// MarshalAppend appends an error's body, and an empty one for a request, which is decoded already.
func (codec) MarshalAppend(b []byte, m proto.Message) ([]byte, error) {
	failed, ok := m.(*status.Status)
	if !ok {
		return append(b, emptyBody...), nil
	}
	for _, detail := range failed.GetDetails() {
		body := &storefrontv1.Error{}
		if detail.UnmarshalTo(body) == nil {
			return appendError(b, body), nil
		}
	}
	return nil, fmt.Errorf("an error without a refusal: %s", failed.GetMessage())
}
