package edge

import (
	"bytes"
	"fmt"
	"io"
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

// compressedBytes is the size from which answers are compressed. A smaller answer fits into one packet, so compression gains
// nothing.
const compressedBytes = 1024

// mountTranscoder puts vanguard in front of the handlers of the typed protocols. Vanguard finds the method of a request
// under /v1, copies path, query and body to a message, calls Connect in the binary format, and writes the answer or the
// error with the codec.
func (e *Edge) mountTranscoder(services []Service) error {
	mounted := make([]*vanguard.Service, len(services))
	for i, s := range services {
		mounted[i] = vanguard.NewService(s.Path, s.Handler)
	}
	transcoder, err := vanguard.NewTranscoder(mounted,
		vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec { return codec{} }),
		vanguard.WithDefaultServiceOptions(
			vanguard.WithTargetProtocols(vanguard.ProtocolConnect),
			vanguard.WithTargetCodecs("proto"),
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

// pathEscaper escapes a path, because vanguard unescapes the variables in it and ends the path at a colon. If a client has
// escaped a character of an id, this escape is escaped too, so the id does not match. No valid id needs an escape.
var pathEscaper = strings.NewReplacer("%", "%25", ":", "%3A")

// serveREST serves a request under /v1, or returns the error with which it is refused.
func (e *Edge) serveREST(x *exchange, r *http.Request, path string) error {
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
	query, err := e.check(r.Context(), m, r.URL.RawQuery, body)
	if err != nil {
		return err
	}
	inner := r.WithContext(r.Context())
	inner.Method = m.verb
	inner.URL = &url.URL{Path: pathEscaper.Replace(strings.ToValidUTF8(path, "%")), RawQuery: query}
	inner.Header = http.Header{"Content-Type": contentTypeJSON} // no other headers, because vanguard takes the protocol from them
	inner.Trailer, inner.TransferEncoding = nil, nil
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	a := &answer{header: http.Header{}}
	e.transcoder.ServeHTTP(a, inner)
	if x.Refusal == nil && a.status != http.StatusOK {
		// check has accepted the request, so vanguard must not refuse it: this is an error of the service.
		return fmt.Errorf("%s: vanguard answered %d: %s", x.Route, a.status, a.body)
	}
	x.send(r, a.body)
	return nil
}

// send sends an answer with the body that vanguard has made. Its status is 200, 201 or the refusal's, and it has none of
// vanguard's headers. send compresses a large body if the client accepts compression, but not the body of a refusal.
func (x *exchange) send(r *http.Request, body []byte) {
	h, status := x.Header(), http.StatusOK
	h["Content-Type"], h["Content-Length"] = contentTypeJSON, headerNumber(len(body))
	switch {
	case x.Refusal != nil:
		status = x.Refusal.Status()
	case x.created:
		status = http.StatusCreated
	}
	write := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	if x.Refusal != nil || len(body) < compressedBytes {
		write(x, r)
		return
	}
	if r.Method == http.MethodHead {
		h.Set(gzhttp.HeaderNoCompression, "1")
	}
	x.edge.compress(http.HandlerFunc(write))(x, r)
}

// find returns the method for a verb and a path. If the path exists only with other verbs, it returns the method of one of
// them, and lists the verbs in allow.
func (e *Edge) find(verb, urlPath string) (m *method, allow string) {
	if path.Clean(urlPath) != urlPath || verb == http.MethodConnect {
		return nil, "" // no method, because ServeMux would redirect this request
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

// answer is a ResponseWriter that buffers an answer instead of sending it.
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

// codec is the codec that vanguard uses for /v1. It writes the API's JSON, and the error body if a handler fails.
type codec struct{ apijson.Codec }

// Unmarshal reads a body, which check has accepted.
func (codec) Unmarshal(data []byte, m proto.Message) error {
	return apijson.Unmarshal(data, m, notInBody...)
}

// MarshalAppend appends an answer or an error body.
func (codec) MarshalAppend(b []byte, m proto.Message) ([]byte, error) {
	failed, ok := m.(*status.Status)
	if !ok {
		return apijson.Append(b, m), nil
	}
	for _, detail := range failed.GetDetails() {
		body := &storefrontv1.Error{}
		if detail.UnmarshalTo(body) == nil {
			return appendError(b, body), nil
		}
	}
	return nil, fmt.Errorf("an error without a refusal: %s", failed.GetMessage())
}
