package edge_test

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

func contentLength(t *testing.T, a answer) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get("Content-Length"))
	require.NoError(t, err)
	return n
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	product := "/v1/products/" + productID
	rows := []struct {
		reason, method, path, body string
		headers                    []string
		status                     int
		code                       apierr.Code
		details                    string
	}{
		{"the key comes before the path, /v1 itself too", "GET", "/v1", "", []string{"Authorization: "}, 401, apierr.APIKeyMissing, ""},
		{"the rate comes before the path", "GET", "/v1/nothing", "", []string{"Authorization: Bearer limited"}, 429, apierr.RateLimited,
			""},
		{"the scope comes before the query", "GET", "/v1/store?x=1", "", []string{"Authorization: Bearer read"}, 403,
			apierr.InsufficientScope, `{"required":"store:read"}`},
		{"the media type comes before the body", "PATCH", product, "{", []string{"Content-Type: text/plain"}, 415,
			apierr.UnsupportedMediaType, ""},

		{"a rule adds to what did not decode", "PATCH", product, `{"title":"bad","nope":1}`, nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"title","message":"must not be bad"},{"field":"nope","message":"is not a known field"}]}`},
		{"feature_disabled comes before the body's fields", "POST", "/v1/payment-links", `{"nope":1}`, nil, 422, apierr.FeatureDisabled,
			""},
		{"every refused parameter is listed, each once", "GET", "/v1/products?page=x&page=1&pageSize=1.5&status=PAID&%zz=1&q=%ff&q=",
			"", nil, 400, apierr.ValidationFailed, ""},

		{"a refusal of the handler with details", "PATCH", product, `{"status":"PUBLISHED"}`, nil, 422, apierr.ProductIncomplete,
			`{"missing":["description","content"]}`},
		{"a failure", "GET", "/v1/products/fails", "", nil, 500, apierr.InternalError, ""},
		{"a panic", "GET", "/v1/products/panic", "", nil, 500, apierr.InternalError, ""},
		{"the database is away", "GET", "/v1/products/away", "", nil, 503, apierr.Unavailable, ""},
		{"the database is away at the gate", "GET", "/v1/store", "", []string{"Authorization: Bearer broken"}, 503, apierr.Unavailable,
			""},

		{"nothing outside /v1, and no key asked for", "GET", "/", "", []string{"Authorization: "}, 404, apierr.NotFound, ""},
		{"nothing beside /v1", "GET", "/v10/store", "", []string{"Authorization: "}, 404, apierr.NotFound, ""},
		{"a doubled slash before /v1", "GET", "//v1/store", "", []string{"Authorization: "}, 404, apierr.NotFound, ""},
		{"an unknown method of a service", "POST", "/storefront.v1.StoreService/Nope", "{}", nil, 404, apierr.NotFound, ""},
	}
	w := start(t)
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			a := w.do(t, row.method, row.path, row.body, row.headers...)
			switch row.status {
			case 401:
				requireProblem(t, a, row.status, row.code, row.details, "Www-Authenticate")
				require.Equal(t, `Bearer realm="Service API"`, a.header.Get("WWW-Authenticate"))
			case 405:
				requireProblem(t, a, row.status, row.code, row.details, "Allow")
			case 429:
				requireProblem(t, a, row.status, row.code, row.details, "Retry-After")
				require.Equal(t, "42", a.header.Get("Retry-After"))
				require.Equal(t, "0", a.header.Get("X-RateLimit-Remaining"))
			case 503:
				requireProblem(t, a, row.status, row.code, row.details, "Retry-After")
				require.Equal(t, "1", a.header.Get("Retry-After"))
			case 400:
				if row.details == "" {
					require.Equal(t, []string{"page", "pageSize", "status", "%zz", "q"}, fieldNames(t, a))
					return
				}
				requireProblem(t, a, row.status, row.code, row.details)
			default:
				requireProblem(t, a, row.status, row.code, row.details)
			}
			require.NotContains(t, a.body, "secret")
		})
	}
	require.Contains(t, w.log.String(), "secret in an error", "the cause goes to the log")
	require.Contains(t, w.log.String(), "secret in a panic")
	require.Contains(t, w.log.String(), `edge.(*Edge).intercept`, "with the stack")
}

func fieldNames(t *testing.T, a answer) []string {
	t.Helper()
	var names []string
	for part := range strings.SplitSeq(a.body, `{"field":"`) {
		if name, _, ok := strings.Cut(part, `","message":"`); ok && !strings.HasPrefix(part, `{`) {
			names = append(names, name)
		}
	}
	return names
}

func TestPathsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{
		"/v1", "/v1/", "/v1/products/", "/v1//products", "/v1/products//", "/v1/./products", "/v1/products/.", "/v1/products/..",
		"/v1/store/../store", "/v1/%73tore", "/v1/products/" + productID + "/", "/v1/products/a/b", "/v1/payment-links/x/enable/",
		"/v1/payment-links//enable", "/v1/payment-links/a/b/enable", "/v1/Products", "/v1/products:x", "/v1/payment-links/enable/x",
	} {
		requireProblem(t, w.do(t, "GET", path, ""), 404, apierr.NotFound, "")
	}
	require.Nil(t, w.api.last(), "no handler ran")
	for _, id := range []string{"%20", "a%2Fb", "%2e%2e", "%30b0b0b0b-0000-4000-8000-000000000001", "x:y"} {
		requireProblem(t, w.do(t, "GET", "/v1/products/"+id, ""), 404, apierr.ProductNotFound, "")
	}
}

// unsized makes net/http send the body in chunks.
func unsized(s string) io.Reader { return io.MultiReader(strings.NewReader(s)) }

func TestBodySize(t *testing.T) {
	t.Parallel()
	w := start(t)
	fits := `{"title":"` + strings.Repeat("x", edge.MaxBodyBytes-len(`{"title":""}`)) + `"}`
	require.Len(t, fits, edge.MaxBodyBytes)
	product := "/v1/products/" + productID
	require.Equal(t, 200, w.do(t, "PATCH", product, fits).status, "1 MiB is read")
	require.Equal(t, 200, w.send(t, "PATCH", product, unsized(fits)).status, "1 MiB in chunks is read")
	requireProblem(t, w.send(t, "PATCH", product, unsized("{}"), "Content-Type: "), 415, apierr.UnsupportedMediaType, "")
	requireProblem(t, w.send(t, "PATCH", product, unsized(""), "Content-Type: "), 400, apierr.ValidationFailed, `{"fields":[]}`)
	require.Equal(t, 200, w.do(t, "PATCH", product, "{}", "Content-Encoding: identity").status)
	for _, path := range []string{product, "/v1/payment-links/x/enable"} {
		method := map[bool]string{true: "PATCH", false: "POST"}[path == product]
		requireProblem(t, w.do(t, method, path, fits+" "), 413, apierr.PayloadTooLarge, "", "Connection")
		requireProblem(t, w.send(t, method, path, unsized(fits+" ")), 413, apierr.PayloadTooLarge, "", "Connection")
		requireProblem(t, w.send(t, method, path, bytes.NewReader(make([]byte, 8<<20))), 413, apierr.PayloadTooLarge, "", "Connection")
	}
	requireProblem(t, w.send(t, "PATCH", product, unsized(fits+" "), "Authorization: Bearer read"), 403, apierr.InsufficientScope,
		`{"required":"products:write"}`, "Connection")
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "", "Authorization: Bearer "+fullKey).status, "the server still answers")
}

func TestHeadersOfClientsMeanNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.do(t, "GET", "/v1/store", "",
		"Accept-Encoding: gzip", "X-Server-Timeout: 0.000001", "Connect-Timeout-Ms: 1", "Connect-Protocol-Version: 1",
		"Content-Type: application/grpc",
		"Grpc-Timeout: 1n", "Origin: https://example.com", "X-Request-Id: chosen", "Accept: text/html", "Te: trailers")
	require.Equal(t, 200, a.status, a.body)
	requireHeaders(t, a)
	require.NotEqual(t, "chosen", a.header.Get("X-Request-Id"))
}
