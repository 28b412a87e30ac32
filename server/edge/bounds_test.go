package edge_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

const (
	healthCheck   = "/grpc.health.v1.Health/Check"
	updateProduct = "/storefront.v1.ProductService/UpdateProduct"
	getProduct    = "/storefront.v1.ProductService/GetProduct"
)

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	_, err = z.Write(text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// envelope adds gRPC's prefix: the message's flags and length.
func envelope(flags byte, size int, message []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{flags}, uint32(size))
	return append(b, message...)
}

// refused has the protocol's code, the detail, and the whole answer.
type refused struct {
	protocol string
	detail   *storefrontv1.Error
	text     string
	header   http.Header
}

var grpcCodes = map[string]string{"1": "canceled", "3": "invalid_argument", "4": "deadline_exceeded", "5": "not_found",
	"8": "resource_exhausted", "12": "unimplemented", "13": "internal", "14": "unavailable"}

// byHand sends a call without a client library.
func (w *world) byHand(t *testing.T, path string, body io.Reader, headers ...string) (*http.Response, []byte) {
	t.Helper()
	method := http.MethodPost
	if strings.Contains(path, "?") {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+fullKey)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	client := w.client
	if r.Header.Get("Content-Type") == "application/grpc" {
		client = plainHTTP2(t)
	}
	res, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, text
}

// code returns the protocol's code of the refusal.
func (w *world) code(t *testing.T, path string, body io.Reader, headers ...string) string {
	t.Helper()
	res, text := w.byHand(t, path, body, headers...) //nolint:bodyclose // byHand closes it.
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/grpc") {
		return grpcCodes[res.Header.Get("Grpc-Status")+res.Trailer.Get("Grpc-Status")]
	}
	var answer struct{ Code string }
	require.NoError(t, json.Unmarshal(text, &answer), "%d %s", res.StatusCode, text)
	return answer.Code
}

func (w *world) post(t *testing.T, path string, body io.Reader, headers ...string) refused {
	t.Helper()
	res, text := w.byHand(t, path, body, headers...) //nolint:bodyclose // As above.
	return readRefused(t, res, text)
}

func readRefused(t *testing.T, res *http.Response, text []byte) refused {
	t.Helper()
	a := refused{text: string(text), header: res.Header, detail: &storefrontv1.Error{}}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "application/grpc") {
		var body struct {
			Code    string
			Details []struct{ Type, Value string }
		}
		require.NoError(t, json.Unmarshal(text, &body), "%d %s", res.StatusCode, text)
		require.Len(t, body.Details, 1, "%d %s", res.StatusCode, text)
		require.Equal(t, "storefront.v1.Error", body.Details[0].Type)
		value, err := base64.RawStdEncoding.DecodeString(body.Details[0].Value)
		require.NoError(t, err)
		require.NoError(t, proto.Unmarshal(value, a.detail))
		a.protocol = body.Code
		a.text += a.detail.String()
		return a
	}
	own := res.Header
	if own.Get("Grpc-Status") == "" {
		own = res.Trailer
	}
	require.NotEmpty(t, own.Get("Grpc-Status"), "%v %v %q", res.Header, res.Trailer, text)
	a.protocol = grpcCodes[own.Get("Grpc-Status")]
	status := &statuspb.Status{}
	value, err := base64.RawStdEncoding.DecodeString(own.Get("Grpc-Status-Details-Bin"))
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(value, status))
	require.Len(t, status.GetDetails(), 1, "%v", own)
	require.NoError(t, status.GetDetails()[0].UnmarshalTo(a.detail))
	a.text += own.Get("Grpc-Message") + status.GetMessage() + a.detail.String()
	return a
}

// Before or after decompression, with a key and without.
func TestTooLargeInEveryProtocol(t *testing.T) {
	t.Parallel()
	w := start(t)
	zeros := bytes.Repeat([]byte("0"), 8<<20)
	bomb := zipped(t, zeros)
	require.Less(t, len(bomb), 64<<10)
	small := zipped(t, bytes.Repeat([]byte("0"), 3<<20)) // compressed, it fits into the query of a URL
	binaryBomb := base64.RawURLEncoding.EncodeToString(small)
	for _, row := range []struct {
		reason, path string
		body         []byte
		headers      []string
	}{
		{"Connect, declared", "", zeros, []string{"Content-Type: application/json"}},
		{"Connect, compressed", updateProduct, bomb, []string{"Content-Type: application/json", "Content-Encoding: gzip"}},
		{"Connect, binary, compressed", updateProduct, bomb, []string{"Content-Type: application/proto", "Content-Encoding: gzip"}},
		{"Connect, GET, compressed", getProduct + "?connect=v1&encoding=proto&base64=1&compression=gzip&message=" + binaryBomb, nil,
			nil},
		{"gRPC", "", envelope(0, len(zeros), zeros), []string{"Content-Type: application/grpc"}},
		{"gRPC, compressed", updateProduct, envelope(1, len(bomb), bomb), []string{"Content-Type: application/grpc",
			"Grpc-Encoding: gzip"}},
		{"gRPC, 4 GB promised", "", envelope(0, 1<<32-1, nil), []string{"Content-Type: application/grpc"}},
		{"gRPC, 4 GB promised and compressed", updateProduct, envelope(1, 1<<32-1, nil), []string{"Content-Type: application/grpc",
			"Grpc-Encoding: gzip"}},
		{"gRPC-Web", "", envelope(0, len(zeros), zeros), []string{"Content-Type: application/grpc-web+proto"}},
		{"gRPC-Web, compressed", updateProduct, envelope(1, len(bomb), bomb), []string{"Content-Type: application/grpc-web",
			"Grpc-Encoding: gzip"}},
		{"gRPC-Web, 4 GB promised", "", envelope(0, 1<<32-1, nil), []string{"Content-Type: application/grpc-web"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			for _, path := range []string{healthCheck, updateProduct} {
				if row.path != "" {
					path = row.path
				}
				for _, body := range []io.Reader{bytes.NewReader(row.body), io.MultiReader(bytes.NewReader(row.body))} {
					if row.body == nil {
						body = nil
					}
					require.Equal(t, "resource_exhausted", w.code(t, path, body, row.headers...), path)
				}
			}
		})
	}
}

// Connect accepts calls by GET, and answers them as calls by POST.
func TestCallByGET(t *testing.T) {
	t.Parallel()
	w := start(t)
	message := []byte(`{"id":"` + productID + `"}`)
	for _, query := range []string{
		"message=" + url.QueryEscape(string(message)),
		"base64=1&message=" + base64.RawURLEncoding.EncodeToString(message),
		"base64=1&message=" + url.QueryEscape(base64.URLEncoding.EncodeToString(message)),
		"compression=identity&message=" + url.QueryEscape(string(message)) + "&message=second&else=where",
	} {
		a := w.do(t, "GET", getProduct+"?connect=v1&encoding=json&"+query, "")
		require.Equal(t, 200, a.status, "%s: %s", query, a.body)
		require.Contains(t, a.body, `"title":"A & B"`)
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
	}
}

// The route is a procedure or a template, never a path that a client invented.
func TestRoutesAreAClosedSet(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{
		"/grpc.health.v1.Health/x1", "/grpc.health.v1.Health/%FF", "/grpc.health.v1.Health/", "/grpc.health.v1.Health/Check/", "/%FF",
		"/storefront.v1.StoreService/%FF", "/storefront.v1.StoreService/x1", "/grpc.health.v1.Health/Check%2F",
	} {
		for _, contentType := range []string{"application/json", "application/grpc", "x/\xff"} {
			requireProblem(t, w.do(t, "POST", path, "{}", "Content-Type: "+contentType, "Authorization: "), 404, apierr.NotFound, "")
		}
	}
	for _, path := range []string{"/v1/%FF", "/v1/products/%FF", "/v1/x1"} {
		require.Equal(t, 404, w.do(t, "GET", path, "").status)
	}
	requireProblem(t, w.do(t, "GET", healthCheck, ""), 405, apierr.MethodNotAllowed, "", "Allow")
	requireProblem(t, w.do(t, "x\xff"[:1], healthCheck, ""), 405, apierr.MethodNotAllowed, "", "Allow")
	for _, r := range w.requests() {
		require.Contains(t, []string{"unmatched", "/v1/products/{id}", healthCheck}, r.Route)
		require.Contains(t, []edge.Protocol{edge.ProtocolNone, edge.ProtocolREST}, r.Protocol)
		require.Contains(t, []string{"GET", "POST", "OTHER"}, r.Method)
	}
	require.NotContains(t, w.log.String(), "x1")
}

// Each open call without a key holds memory while its message is awaited.
func TestOpenCallsWithoutAKeyAreBounded(t *testing.T) {
	t.Parallel()
	w := start(t)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	call := func(body io.Reader) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+healthCheck, body)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/proto")
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, http.StatusOK, call(strings.NewReader("")), "opens the connection")
	const most, more = 8, 4
	statuses := make(chan int)
	var ends []*io.PipeWriter
	for range most + more {
		body, end := io.Pipe()
		ends = append(ends, end)
		go func() { statuses <- call(body) }()
	}
	for range more {
		require.Equal(t, http.StatusServiceUnavailable, <-statuses)
	}
	for _, end := range ends {
		require.NoError(t, end.Close())
	}
	for range most {
		require.Equal(t, http.StatusOK, <-statuses)
	}
	require.Equal(t, http.StatusOK, call(strings.NewReader("")))
}
