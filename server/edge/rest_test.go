package edge_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

func TestSuccess(t *testing.T) {
	t.Parallel()
	w := start(t)
	list := w.do(t, "GET", "/v1/products", "")
	require.Equal(t, http.StatusOK, list.status)
	requireHeaders(t, list, "Vary")
	require.Equal(t, "113", list.header.Get("X-RateLimit-Remaining"))
	require.Equal(t, len(list.body), contentLength(t, list), "a long answer has its length too")
	require.True(t, strings.HasPrefix(list.body, `{"page":1,"pageSize":25,"total":1,"data":[{"id":"`), list.body[:80])

	for _, row := range []struct {
		reason, method, path, body string
		status                     int
		answer                     string
	}{
		{"text is not escaped for HTML", "GET", "/v1/products/" + productID, "", 200, `"title":"A & B"`},
		{"the context has the store and the key's name", "GET", "/v1/store", "", 200, `"name":"tool","slug":"shop"`},
		{"a new customer is 201", "POST", "/v1/customers", `{"name":"N","email":"n@example.com"}`, 201, `"name":"N"`},
		{"a known customer is 200", "POST", "/v1/customers", `{"email":"known@example.com"}`, 200, productID},
		{"a change", "PATCH", "/v1/products/" + productID, `{"title":"T"}`, 200, `"title":"T"`},
		{"a query separator at the end is nothing", "GET", "/v1/store?&", "", 200, "shop"},
		{"a GET's body is ignored", "GET", "/v1/store", "not JSON", 200, "shop"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			a := w.do(t, row.method, row.path, row.body)
			require.Equal(t, row.status, a.status)
			requireHeaders(t, a)
			require.Contains(t, a.body, row.answer)
		})
	}
}

func contentLength(t *testing.T, a answer) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get("Content-Length"))
	require.NoError(t, err)
	return n
}

func TestHandlerGetsWhatWasSent(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.do(t, "GET", "/v1/products?page=2&pageSize=10&q=a%20b%2Bc+d&status=DRAFT&type=COURSE", "")
	require.True(t, proto.Equal(&storefrontv1.ListProductsRequest{
		Page: proto.Int64(2), PageSize: proto.Int32(10), Q: proto.String("a b+c d"),
		Status: storefrontv1.Product_DRAFT.Enum(), Type: storefrontv1.Product_COURSE.Enum(),
	}, w.api.last()), "%v", w.api.last())

	w.do(t, "PATCH", "/v1/products/"+productID, `{"title":"T","compareAtAmount":null}`)
	require.True(t, proto.Equal(&storefrontv1.UpdateProductRequest{
		Id: productID, Title: proto.String("T"),
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title", "compare_at_amount"}},
	}, w.api.last()), "%v", w.api.last())

	w.do(t, "PATCH", "/v1/products/"+productID, `{}`)
	require.True(t, proto.Equal(&storefrontv1.UpdateProductRequest{Id: productID, UpdateMask: &fieldmaskpb.FieldMask{}},
		w.api.last()),
		"an empty change has an empty mask, not none")

	w.do(t, "GET", "/v1/orders?from=2026-01-01T02:00:00%2B02:00", "")
	require.Equal(t, int64(1767225600), w.api.last().(*storefrontv1.ListOrdersRequest).GetFrom().GetSeconds())
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
		{"the key comes before the path", "GET", "/v1/nothing", "", []string{"Authorization: "}, 401, apierr.APIKeyMissing, ""},
		{"the key comes before the path, /v1 itself too", "GET", "/v1", "", []string{"Authorization: "}, 401, apierr.APIKeyMissing, ""},
		{"the key comes before the body", "PATCH", product, "{", []string{"Authorization: Bearer x"}, 401, apierr.APIKeyInvalid, ""},
		{"the rate comes before the path", "GET", "/v1/nothing", "", []string{"Authorization: Bearer limited"}, 429, apierr.RateLimited,
			""},
		{"the path comes before the scope", "GET", "/v1/nothing", "", []string{"Authorization: Bearer read"}, 404, apierr.NotFound, ""},
		{"the method comes before the scope", "DELETE", product, "", []string{"Authorization: Bearer read"}, 405,
			apierr.MethodNotAllowed, ""},
		{"the scope comes before the body", "PATCH", product, "{", []string{"Authorization: Bearer read"}, 403,
			apierr.InsufficientScope, `{"required":"products:write"}`},
		{"a read scope of another resource", "GET", "/v1/store", "", []string{"Authorization: Bearer read"}, 403,
			apierr.InsufficientScope, `{"required":"store:read"}`},
		{"the scope comes before the query", "GET", "/v1/store?x=1", "", []string{"Authorization: Bearer read"}, 403,
			apierr.InsufficientScope, `{"required":"store:read"}`},
		{"the media type comes before the body", "PATCH", product, "{", []string{"Content-Type: text/plain"}, 415,
			apierr.UnsupportedMediaType, ""},
		{"the body comes before existence", "PATCH", "/v1/products/unknown", `{"title":1}`, nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"title","message":"must be a string"}]}`},

		{"a rule adds to what did not decode", "PATCH", product, `{"title":"bad","nope":1}`, nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"title","message":"must not be bad"},{"field":"nope","message":"is not a known field"}]}`},
		{"feature_disabled comes before the body's fields", "POST", "/v1/payment-links", `{"nope":1}`, nil, 422, apierr.FeatureDisabled,
			""},
		{"body and query are refused together", "PATCH", product + "?title=x", `{"nope":1}`, nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"title","message":"is not a parameter of this address"},{"field":"nope","message":"is not a known field"}]}`},
		{"the identifier is no field of the body", "PATCH", product, `{"id":"` + productID + `"}`, nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"id","message":"is not a known field"}]}`},
		{"the mask is no field of the body", "PATCH", product, `{"updateMask":"title"}`, nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"updateMask","message":"is not a known field"}]}`},
		{"a body that is not JSON", "PATCH", product, "{", nil, 400, apierr.ValidationFailed, `{"fields":[]}`},
		{"a body that is no object", "PATCH", product, "[]", nil, 400, apierr.ValidationFailed, `{"fields":[]}`},
		{"a body that begins as binary between the codecs does", "PATCH", product, "b", nil, 400, apierr.ValidationFailed,
			`{"fields":[]}`},
		{"nor where it passes through vanguard", "POST", "/v1/customers", "b\x0a\x01N", nil, 400, apierr.ValidationFailed,
			`{"fields":[]}`},
		{"nor one that begins as JSON does there", "POST", "/v1/customers", "j{}", nil, 400, apierr.ValidationFailed, `{"fields":[]}`},
		{"no body where one passes through", "POST", "/v1/customers", "", nil, 400, apierr.ValidationFailed, `{"fields":[]}`},
		{"no body where one is expected", "PATCH", product, "", nil, 400, apierr.ValidationFailed, `{"fields":[]}`},

		{"an unknown parameter", "GET", "/v1/products?size=1", "", nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"size","message":"is not a parameter of this address"}]}`},
		{"a parameter's name is its JSON name", "GET", "/v1/products?page_size=1", "", nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"page_size","message":"is not a parameter of this address"}]}`},
		{"names have a case", "GET", "/v1/products?Page=1", "", nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"Page","message":"is not a parameter of this address"}]}`},
		{"the path's variable is no parameter", "GET", product + "?id=x", "", nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"id","message":"is not a parameter of this address"}]}`},
		{"a parameter of the RPC protocols means nothing", "GET", "/v1/store?connect=v1", "", nil, 400, apierr.ValidationFailed,
			`{"fields":[{"field":"connect","message":"is not a parameter of this address"}]}`},
		{"every refused parameter is listed, each once", "GET", "/v1/products?page=x&page=1&pageSize=1.5&status=PAID&%zz=1&q=%ff&q=",
			"", nil, 400, apierr.ValidationFailed, ""},

		{"a refusal of the handler", "GET", "/v1/products/x", "", nil, 404, apierr.ProductNotFound, ""},
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

func TestMethods(t *testing.T) {
	t.Parallel()
	w := start(t)
	for path, allow := range map[string]string{
		"/v1/store":                  "GET, HEAD",
		"/v1/products":               "GET, HEAD",
		"/v1/products/x":             "GET, HEAD, PATCH",
		"/v1/orders":                 "GET, HEAD",
		"/v1/orders/x":               "GET, HEAD",
		"/v1/customers":              "GET, HEAD, POST",
		"/v1/customers/x":            "GET, HEAD, PATCH",
		"/v1/payment-links":          "GET, HEAD, POST",
		"/v1/payment-links/x":        "GET, HEAD, PATCH",
		"/v1/payment-links/x/enable": "POST",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND"} {
			if slices.Contains(strings.Split(allow, ", "), method) {
				continue
			}
			a := w.do(t, method, path, "", "Origin: https://example.com", "Access-Control-Request-Method: GET")
			require.Equal(t, 405, a.status, "%s %s", method, path)
			require.Equal(t, allow, a.header.Get("Allow"), path)
			if method != "HEAD" {
				requireProblem(t, a, 405, apierr.MethodNotAllowed, "", "Allow")
			}
			requests := w.requests()
			require.Equal(t, strings.Replace(path, "/x", "/{id}", 1), requests[len(requests)-1].Route)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"/v1/products", "/v1/store", "/v1/products/x", "/v1/nothing", "/v1/products?x=1"} {
		get, head := w.do(t, "GET", path, ""), w.do(t, "HEAD", path, "")
		require.Equal(t, get.status, head.status, path)
		require.Empty(t, head.body, path)
		require.Equal(t, len(get.body), contentLength(t, head), path)
		requireHeaders(t, head, "Vary")
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	w := start(t)
	product := "/v1/products/" + productID
	for _, accepted := range []string{
		"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", `Application/JSON; Charset="Utf-8"`,
		"application/json; profile=x",
	} {
		require.Equal(t, 200, w.do(t, "PATCH", product, "{}", "Content-Type: "+accepted).status, accepted)
	}
	for _, refused := range []string{
		"", "text/plain", "application/xml", "application/json; charset=latin1", "application/jsonp",
		"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/proto", "application/grpc", "json", ";",
	} {
		requireProblem(t, w.do(t, "PATCH", product, "{}", "Content-Type: "+refused), 415, apierr.UnsupportedMediaType, "")
	}
	requireProblem(t, w.do(t, "PATCH", product, "{}", "Content-Encoding: gzip"), 415, apierr.UnsupportedMediaType, "")
	require.Equal(t, 200, w.do(t, "PATCH", product, "{}", "Content-Encoding: identity").status)

	t.Run("without a type and without a known length", func(t *testing.T) {
		requireProblem(t, w.send(t, "PATCH", product, unsized("{}"), "Content-Type: "), 415, apierr.UnsupportedMediaType, "")
		requireProblem(t, w.send(t, "PATCH", product, unsized(""), "Content-Type: "), 400, apierr.ValidationFailed, `{"fields":[]}`)
	})
	t.Run("what is not looked at may be anything", func(t *testing.T) {
		a := w.do(t, "POST", "/v1/payment-links/x/enable", "not JSON", "Content-Type: text/plain")
		require.Equal(t, 200, a.status)
		require.Contains(t, a.body, `"id":"x"`)
		require.Equal(t, 200, w.do(t, "POST", "/v1/payment-links/x/enable", "").status)
	})
}

// unsized hides a text's length, so that it is sent in chunks.
func unsized(s string) io.Reader { return io.MultiReader(strings.NewReader(s)) }

func TestBodySize(t *testing.T) {
	t.Parallel()
	w := start(t)
	fits := `{"title":"` + strings.Repeat("x", edge.MaxBodyBytes-len(`{"title":""}`)) + `"}`
	require.Len(t, fits, edge.MaxBodyBytes)
	product := "/v1/products/" + productID
	require.Equal(t, 200, w.do(t, "PATCH", product, fits).status, "1 MiB is read")
	require.Equal(t, 200, w.send(t, "PATCH", product, unsized(fits)).status, "1 MiB in chunks is read")
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
