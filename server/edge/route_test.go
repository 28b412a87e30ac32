package edge_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

// A path under /v1 matches a template exactly, with the id as it was sent, or it is not found. The observer gets a template or
// "unmatched".
func FuzzRoute(f *testing.F) {
	for _, seed := range []string{
		"store", "products/x", "payment-links/x/enable", "products/", "/products", "products/..", "payment-links//enable",
		"products/%2f", "products/%", "products/a:b", "products/\xff", "products:x", "products/x:", "products/a%", "", "*",
	} {
		f.Add(seed)
	}
	w := newWorld(f, func(c *edge.Config) { c.Logger = slog.New(slog.DiscardHandler) })
	templates := map[string]bool{}
	for _, pattern := range w.edge.Patterns() {
		if template, ok := strings.CutPrefix(pattern, "GET "); ok {
			templates[template] = true
		}
	}
	f.Fuzz(func(t *testing.T, path string) {
		path = "/v1/" + path
		var observed edge.Request
		w.api.seen = nil
		w.observe = func(r edge.Request) { observed = r }
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		plain, err := url.PathUnescape(path)
		if err != nil {
			return // net/http itself refuses a path with a wrong escape
		}
		r.URL = &url.URL{Path: plain, RawPath: path}
		r.Header.Set("Authorization", "Bearer "+fullKey)
		a := httptest.NewRecorder()
		w.edge.ServeHTTP(a, r)
		require.Contains(t, []int{200, 404, 405, 500}, a.Code)
		if observed.Route == "unmatched" {
			require.Equal(t, string(apierr.NotFound), observed.Code)
			return
		}
		before, after, variable := strings.Cut(observed.Route, "{id}")
		require.True(t, templates[observed.Route] || observed.Status == 405, observed.Route)
		id, ok := strings.CutPrefix(path, before)
		require.True(t, ok, path)
		id, ok = strings.CutSuffix(id, after)
		require.True(t, ok, path)
		require.Equal(t, variable, id != "")
		require.NotContains(t, id, "/")
		require.NotContains(t, []string{".", ".."}, id)
		if get, ok := w.api.last().(*storefrontv1.GetProductRequest); ok && observed.Route == "/v1/products/{id}" {
			require.Equal(t, strings.ToValidUTF8(id, "%"), get.GetId())
		}
	})
}
