package edge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

func plainHTTP2(t *testing.T) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func withKey(key string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return next(ctx, r)
		}
	}))
}

// requireCallError asserts the codes of the protocol and of the API, and returns the detail.
func requireCallError(t *testing.T, err error, code connect.Code, detailCode apierr.Code) *storefrontv1.Error {
	t.Helper()
	var c *connect.Error
	require.ErrorAs(t, err, &c)
	require.Equal(t, code, c.Code(), "%v", err)
	require.Equal(t, "120", c.Meta().Get("X-RateLimit-Limit"), "%v", c.Meta())
	require.NotEmpty(t, c.Meta().Get("X-RateLimit-Remaining"))
	require.Equal(t, "42", c.Meta().Get("X-RateLimit-Reset"))
	require.Len(t, c.Details(), 1)
	value, err := c.Details()[0].Value()
	require.NoError(t, err)
	detail, ok := value.(*storefrontv1.Error)
	require.True(t, ok)
	require.Equal(t, string(detailCode), detail.GetCode())
	require.Equal(t, c.Message(), detail.GetMessage())
	require.Equal(t, c.Meta().Get("X-Request-Id"), detail.GetRequestId())
	require.Equal(t, now, detail.GetTimestamp().AsTime())
	require.NoError(t, uuid.Validate(detail.GetRequestId()))
	return detail
}

func TestCalls(t *testing.T) {
	t.Parallel()
	w := start(t)
	h2 := plainHTTP2(t)
	for _, row := range []struct {
		protocol edge.Protocol
		client   *http.Client
		options  []connect.ClientOption
	}{
		{edge.ProtocolConnect, w.client, nil},
		{edge.ProtocolConnect, w.client, []connect.ClientOption{connect.WithProtoJSON()}},
		{edge.ProtocolConnect, w.client, []connect.ClientOption{connect.WithProtoJSON(), connect.WithHTTPGet()}},
		{edge.ProtocolConnect, h2, []connect.ClientOption{connect.WithHTTPGet(), connect.WithSendGzip()}},
		{edge.ProtocolGRPC, h2, []connect.ClientOption{connect.WithGRPC()}},
		{edge.ProtocolGRPC, h2, []connect.ClientOption{connect.WithGRPC(), connect.WithProtoJSON(), connect.WithSendGzip()}},
		{edge.ProtocolGRPCWeb, w.client, []connect.ClientOption{connect.WithGRPCWeb()}},
		{edge.ProtocolGRPCWeb, h2, []connect.ClientOption{connect.WithGRPCWeb(), connect.WithProtoJSON()}},
	} {
		products := func(key string) storefrontv1connect.ProductServiceClient {
			return storefrontv1connect.NewProductServiceClient(row.client, w.url, append(row.options, withKey(key))...)
		}
		ctx, full := t.Context(), products(fullKey)

		p, err := full.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: productID})
		require.NoError(t, err, row.protocol)
		require.Equal(t, "A & B", p.GetTitle())
		requests := w.requests()
		require.Equal(t, row.protocol, requests[len(requests)-1].Protocol)
		require.Equal(t, "/storefront.v1.ProductService/GetProduct", requests[len(requests)-1].Route)

		_, err = full.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: "x"})
		requireCallError(t, err, connect.CodeNotFound, apierr.ProductNotFound)
		_, err = full.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: "fails"})
		require.NotContains(t, requireCallError(t, err, connect.CodeInternal, apierr.InternalError).GetMessage(), "secret")
		_, err = full.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: "panic"})
		requireCallError(t, err, connect.CodeInternal, apierr.InternalError)
		_, err = full.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: "away"})
		requireCallError(t, err, connect.CodeUnavailable, apierr.Unavailable)
		_, err = full.UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Id: "x", Status: storefrontv1.Product_PUBLISHED.Enum()})
		detail := requireCallError(t, err, connect.CodeFailedPrecondition, apierr.ProductIncomplete)
		require.Equal(t, []string{"description", "content"}, detail.GetDetails().GetMissing())
		require.Equal(t, int32(422), detail.GetStatusCode())

		_, err = products("nobody").GetProduct(ctx, &storefrontv1.GetProductRequest{Id: productID})
		requireCallError(t, err, connect.CodeUnauthenticated, apierr.APIKeyInvalid)
		require.Equal(t, `Bearer realm="Service API"`, metaOf(err).Get("WWW-Authenticate"))
		_, err = products(limitedKey).GetProduct(ctx, &storefrontv1.GetProductRequest{Id: productID})
		requireCallError(t, err, connect.CodeResourceExhausted, apierr.RateLimited)
		require.Equal(t, "42", metaOf(err).Get("Retry-After"))
		require.Equal(t, "0", metaOf(err).Get("X-RateLimit-Remaining"))
		_, err = products(readKey).UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Id: productID})
		detail = requireCallError(t, err, connect.CodePermissionDenied, apierr.InsufficientScope)
		require.Equal(t, "products:write", detail.GetDetails().GetRequired())
		_, err = full.UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Description: proto.String(noise(2 << 20))})
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
	}
}

func metaOf(err error) http.Header {
	var c *connect.Error
	errors.As(err, &c)
	return c.Meta()
}

// noise returns n bytes that gzip cannot compress.
func noise(n int) string {
	b := make([]byte, n)
	for i, x := 0, uint32(1); i < n; i++ {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestConnectByHand(t *testing.T) {
	t.Parallel()
	w := start(t)
	get := "/storefront.v1.ProductService/GetProduct"
	update := "/storefront.v1.ProductService/UpdateProduct"
	for _, kind := range []string{"application/json; charset=UTF-8; a=b", "application/json; a=b"} {
		require.Equal(t, 200, w.do(t, "POST", get, `{"id":"`+productID+`"}`, "Content-Type: "+kind).status, kind)
	}
	ok := w.do(t, "POST", get, `{"id":"`+productID+`"}`, "Content-Type: application/json; charset=UTF-8")
	require.Equal(t, 200, ok.status, ok.body)
	require.Contains(t, ok.body, `"compareAtAmount":null`, "the one form of JSON")
	require.Equal(t, 200, w.do(t, "GET", get+"?connect=v1&encoding=json&message="+url.QueryEscape(`{"id":"`+productID+`"}`),
		"").status)

	for _, row := range []struct {
		reason, method, path, body string
		headers                    []string
		status                     int
		code                       apierr.Code
		answerHeaders              []string
	}{
		{"a call that changes nothing may be a GET", "PUT", get, "{}", nil, 405, apierr.MethodNotAllowed, []string{"Allow"}},
		{"preflight", "OPTIONS", get, "", nil, 405, apierr.MethodNotAllowed, []string{"Allow"}},
		{"a call that changes something is a POST", "GET", update + "?connect=v1&encoding=json&message={}", "", nil, 405,
			apierr.MethodNotAllowed, []string{"Allow"}},
		{"no protocol's type", "POST", get, "{}", []string{"Content-Type: text/plain"}, 415, apierr.UnsupportedMediaType, nil},
		{"no type", "POST", get, "{}", []string{"Content-Type: "}, 415, apierr.UnsupportedMediaType, nil},
		{"a stream's type", "POST", get, "{}", []string{"Content-Type: application/connect+json"}, 415, apierr.UnsupportedMediaType,
			nil},
		{"another format of gRPC", "POST", get, "{}", []string{"Content-Type: application/grpc+thrift"}, 415,
			apierr.UnsupportedMediaType, nil},
		{"a charset on binary", "POST", get, "", []string{"Content-Type: application/proto; charset=utf-8"}, 415,
			apierr.UnsupportedMediaType, nil},
		{"a GET without a message", "GET", get, "", nil, 415, apierr.UnsupportedMediaType, nil},
		{"a GET with a body", "GET", get + "?connect=v1&encoding=json&message={}", "{}", nil, 415, apierr.UnsupportedMediaType, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			requireProblem(t, w.do(t, row.method, row.path, row.body, row.headers...), row.status, row.code, "", row.answerHeaders...)
		})
	}
	require.Equal(t, "GET, POST", w.do(t, "PUT", get, "").header.Get("Allow"))
	require.Equal(t, "POST", w.do(t, "GET", update, "").header.Get("Allow"))

	t.Run("what does not decode is refused with every field", func(t *testing.T) {
		a := w.do(t, "POST", update, `{"title":"bad","nope":1}`)
		require.Equal(t, 400, a.status)
		require.Contains(t, a.body, `"code":"invalid_argument"`)
		require.Contains(t, a.body, `"type":"storefront.v1.Error"`)
		client := storefrontv1connect.NewProductServiceClient(w.client, w.url, withKey(fullKey))
		_, err := client.UpdateProduct(t.Context(), &storefrontv1.UpdateProductRequest{Title: proto.String("ok")})
		require.NoError(t, err)
	})
	t.Run("binary that is none", func(t *testing.T) {
		a := w.do(t, "POST", update, "\xff\xff", "Content-Type: application/proto")
		require.Equal(t, 400, a.status, a.body)
		require.Contains(t, a.body, `"code":"invalid_argument"`)
	})
	t.Run("a body too large, of unknown length", func(t *testing.T) {
		a := w.send(t, "POST", update, unsized(`{"title":"`+strings.Repeat("x", 1<<20)+`"}`))
		require.Equal(t, 429, a.status, "Connect's status of resource_exhausted")
		require.Contains(t, a.body, `"type":"storefront.v1.Error"`)
	})
	t.Run("a body that breaks off", func(t *testing.T) {
		a := w.raw(t, "POST "+update+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\nConnection: close\r\n"+
			"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		require.Equal(t, 400, a.status, a.body)
		require.Equal(t, "120", a.header.Get("X-RateLimit-Limit"))
	})
	t.Run("a small message that grows large", func(t *testing.T) {
		client := storefrontv1connect.NewProductServiceClient(w.client, w.url, withKey(fullKey), connect.WithSendGzip())
		_, err := client.UpdateProduct(t.Context(), &storefrontv1.UpdateProductRequest{Description: proto.String(strings.Repeat("x",
			2<<20))})
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
	})
}

func TestPublicServices(t *testing.T) {
	t.Parallel()
	w := start(t)
	path := "/grpc.health.v1.Health/Check"
	a := w.do(t, "POST", path, "{}", "Authorization: ")
	require.Equal(t, 200, a.status, a.body)
	require.Equal(t, "120", a.header.Get("X-RateLimit-Limit"))
	require.Empty(t, w.gate.addresses, "no key is asked for")
	require.Equal(t, path, w.requests()[0].Route)
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.client = plainHTTP2(t)
	a := w.do(t, "GET", "/v1/products", "")
	require.Equal(t, 200, a.status)
	requireHeaders(t, a, "Vary")
	requireProblem(t, w.do(t, "PATCH", "/v1/products/x", `{"title":1}`), 400, apierr.ValidationFailed,
		`{"fields":[{"field":"title","message":"must be a string"}]}`)
	requireProblem(t, w.send(t, "PATCH", "/v1/products/x", bytes.NewReader(make([]byte, 2<<20))), 413, apierr.PayloadTooLarge, "")
	head := w.do(t, "HEAD", "/v1/products", "")
	require.Equal(t, len(a.body), contentLength(t, head))
}

func TestGRPCMessageTooLarge(t *testing.T) {
	t.Parallel()
	w := start(t)
	client := plainHTTP2(t)
	send := func(length uint32, body string) http.Header {
		prefix := string([]byte{0, byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)})
		r, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/storefront.v1.ProductService/GetProduct",
			unsized(prefix+body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+fullKey)
		r.Header.Set("Content-Type", "application/grpc")
		res, err := client.Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		require.Equal(t, 200, res.StatusCode)
		if res.Header.Get("Grpc-Status") != "" {
			return res.Header
		}
		return res.Trailer
	}
	answer := send(2*edge.MaxBodyBytes, "")
	require.Equal(t, "8", answer.Get("Grpc-Status"), "the length is refused before the message comes: %v", answer)
	request, err := proto.Marshal(&storefrontv1.GetProductRequest{Id: productID})
	require.NoError(t, err)
	require.Equal(t, "0", send(uint32(len(request)), string(request)).Get("Grpc-Status"))
}
