package edge

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"connectrpc.com/vanguard"
	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// compressedBytes is the size of the smallest answer that is compressed for a client that accepts
// it: about what fits into one packet anyway gains nothing.
const compressedBytes = 1024

// mountTranscoder puts vanguard before the handlers of the typed protocols. It finds the method of a request under /v1, binds
// path, query and body, calls Connect in the binary format, and writes the answer, or the error, with the codec.
func (e *Edge) mountTranscoder(services []Service) error {
	mounted := make([]*vanguard.Service, len(services))
	for i, s := range services {
		mounted[i] = vanguard.NewService(s.Path, e.recoverConnect(s.Handler))
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
	compressed, err := gzhttp.NewWrapper(gzhttp.MinSize(compressedBytes), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false))
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	e.transcoder = compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		inner := *r
		inner.Header = http.Header{"Content-Type": contentTypeJSON} // nothing that could make it another protocol
		transcoder.ServeHTTP(&transcoded{exchange: x, next: w, header: http.Header{}}, &inner)
	}))
	return nil
}

// recoverConnect answers a panic of Connect itself: vanguard would answer 200.
func (e *Edge) recoverConnect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		defer e.recover(x, x.incoming)
		next.ServeHTTP(w, r)
	})
}

// pathEscaper escapes a path so that vanguard takes it as it is: it unescapes variables, and treats a
// colon as the end of a path. No valid identifier contains an escape, so a client's escape matches
// nothing.
var pathEscaper = strings.NewReplacer("%", "%25", ":", "%3A")

// serveREST answers a request under /v1, or returns why it is refused.
func (e *Edge) serveREST(x *exchange, r *http.Request, where string) error {
	m, allow := e.find(r.Method, where)
	if m != nil {
		x.route = m.template
	}
	ctx, err := e.admit(x, r)
	switch {
	case err != nil:
		return err
	case m == nil:
		return notFound()
	case allow != "":
		x.writer.Header()["Allow"] = []string{allow}
		return methodNotAllowed()
	}
	x.method = m
	if err := x.principal.Require(m.scope); err != nil {
		return err
	}
	body, err := m.readBody(x.writer, r)
	if err != nil {
		return err
	}
	query, err := e.check(ctx, m, r.URL.RawQuery, body)
	if err != nil {
		return err
	}
	inner := r.WithContext(ctx)
	if inner.Method == http.MethodHead {
		inner.Method = http.MethodGet
	}
	inner.URL = &url.URL{Path: pathEscaper.Replace(strings.ToValidUTF8(where, "%")), RawQuery: query}
	inner.Trailer, inner.TransferEncoding = nil, nil
	inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	e.transcoder.ServeHTTP(x, inner)
	if !x.sent {
		return fmt.Errorf("%s: vanguard did not answer", x.route)
	}
	return nil
}

// find returns the method of a request under /v1; if its address only has others, one of them and which HTTP methods they have.
func (e *Edge) find(verb, where string) (m *method, allow string) {
	if path.Clean(where) != where || verb == http.MethodConnect {
		return nil, "" // the multiplexer would redirect it
	}
	r := &http.Request{Method: verb, URL: &url.URL{Path: where}} // an escape in it means itself
	handler, pattern := e.routes.Handler(r)
	if pattern != "" {
		return handler.(*method), ""
	}
	missing := &unsent{header: http.Header{}}
	handler.ServeHTTP(missing, r)
	if allow = missing.header.Get("Allow"); allow == "" {
		return nil, ""
	}
	r.Method, _, _ = strings.Cut(allow, ",")
	handler, _ = e.routes.Handler(r)
	return handler.(*method), allow
}

// unsent is the writer of an answer whose headers alone are of interest.
type unsent struct{ header http.Header }

func (u *unsent) Header() http.Header         { return u.header }
func (u *unsent) Write(p []byte) (int, error) { return len(p), nil }
func (u *unsent) WriteHeader(int)             {}

// transcoded is the writer for vanguard, which answers once and whole. The headers are the edge's
// own; the status is that of the refusal, or 201.
type transcoded struct {
	*exchange
	next   http.ResponseWriter // compresses
	header http.Header
	status int
}

// Header returns the headers that vanguard and Connect set.
func (w *transcoded) Header() http.Header { return w.header }

// WriteHeader keeps the status, for Write.
func (w *transcoded) WriteHeader(status int) { w.status = status }

// Write sends the answer.
func (w *transcoded) Write(p []byte) (int, error) {
	switch {
	case w.sent: // Connect has panicked, and that was answered
		return len(p), nil
	case w.refusal == nil && w.status >= http.StatusBadRequest:
		// check has accepted the request, so that a refusal of vanguard's own is a fault of ours.
		w.edge.refuse(w.exchange, w.incoming, fmt.Errorf("vanguard answered %d: %s", w.status, p))
		return len(p), nil
	}
	h, sent := w.writer.Header(), http.StatusOK
	h["Content-Type"], h["Content-Length"] = contentTypeJSON, []string{strconv.Itoa(len(p))}
	switch {
	case w.refusal != nil:
		sent = w.refusal.Status()
	case w.created:
		sent = http.StatusCreated
	}
	if w.refusal != nil || w.incoming.Method == http.MethodHead {
		h.Set(gzhttp.HeaderNoCompression, "1")
	}
	if w.refusal != nil || len(p) < compressedBytes {
		delete(h, "Vary")
	}
	w.next.WriteHeader(sent)
	return w.next.Write(p)
}

// Flush does nothing: /v1 does not stream, and this saves a system call.
func (w *transcoded) Flush() {}

// codec is vanguard's: the JSON of /v1, and the error body for the error of a handler.
type codec struct{ apijson.Codec }

// Unmarshal reads a body, which was checked.
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
