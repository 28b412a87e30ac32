package edge_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// quietAPI answers every request with the same message from memory.
type quietAPI struct {
	storefrontv1connect.UnimplementedProductServiceHandler
	product *storefrontv1.Product
	page    *storefrontv1.ListProductsResponse
}

func (a *quietAPI) GetProduct(context.Context, *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	return a.product, nil
}

func (a *quietAPI) ListProducts(context.Context, *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	return a.page, nil
}

func (a *quietAPI) UpdateProduct(context.Context, *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	return a.product, nil
}

type quietGate struct{ principal auth.Principal }

func (g quietGate) Admit(context.Context, []string, netip.Addr) (auth.Principal, limit.Rate, error) {
	return g.principal, limit.Counted(limit.RequestsPerMinute, 1, now), nil
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Flush()                      {}

// BenchmarkEdgeServe has handlers that answer from memory. "bare" is a net/http handler that writes the same bytes and headers.
func BenchmarkEdgeServe(b *testing.B) {
	api := &quietAPI{product: &storefrontv1.Product{Id: productID, Title: "T", Description: strings.Repeat("x", 300)}}
	api.page = &storefrontv1.ListProductsResponse{Page: 1, PageSize: 25, Total: 25}
	for range 25 {
		api.page.Data = append(api.page.Data, api.product)
	}
	edge, err := edge.New(edge.Config{
		Gate: quietGate{auth.Principal{Scopes: auth.Scopes()}},
		Services: func(opts ...connect.HandlerOption) []edge.Service {
			path, handler := storefrontv1connect.NewProductServiceHandler(api, opts...)
			return []edge.Service{{Path: path, Handler: handler}}
		},
		Logger:      slog.New(slog.NewJSONHandler(&lockedDiscard{}, nil)),
		Unreachable: func(error) bool { return false }, Now: time.Now, Slots: limit.NewSlots(32, 16),
	})
	require.NoError(b, err)
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := apijson.Append(make([]byte, 0, 1024), api.product)
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
	})
	for _, row := range []struct {
		name, method, path, body string
		handler                  http.Handler
	}{
		{"bare", "GET", "/v1/products/" + productID, "", bare},
		{"get", "GET", "/v1/products/" + productID, "", edge},
		{"list", "GET", "/v1/products?page=1&pageSize=25&status=DRAFT", "", edge},
		{"patch", "PATCH", "/v1/products/" + productID, `{"title":"T","priceAmount":1500}`, edge},
		{"refused", "GET", "/v1/products?nope=1", "", edge},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest(row.method, row.path, nil)
			r.Header.Set("Authorization", "Bearer x")
			r.Header.Set("User-Agent", "bench")
			r.Header.Set("Accept-Encoding", "gzip")
			r.Header.Set("Content-Type", "application/json")
			w := &discard{header: http.Header{}}
			for b.Loop() {
				clear(w.header)
				if row.body != "" {
					r.Body, r.ContentLength = reader(row.body), int64(len(row.body))
				}
				row.handler.ServeHTTP(w, r)
			}
			require.Contains(b, []int{200, 400}, w.status)
		})
	}
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }

func reader(s string) body { return body{strings.NewReader(s)} }

type lockedDiscard struct{}

func (*lockedDiscard) Write(p []byte) (int, error) { return len(p), nil }
