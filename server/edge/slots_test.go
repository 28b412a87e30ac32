package edge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// slowAPI is an API whose products a test can delay: GetProduct, and ListProducts with a search.
type slowAPI struct {
	*api
	// begun receives the context of each delayed request, which then calls answer and ends with its error.
	begun  chan context.Context
	answer func(context.Context) error
}

func (a *slowAPI) GetProduct(ctx context.Context, r *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	a.begun <- ctx
	if err := a.answer(ctx); err != nil {
		return nil, err
	}
	return &storefrontv1.Product{Id: r.GetId()}, nil
}

func (a *slowAPI) ListProducts(ctx context.Context, r *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse,
	error) {
	if r.GetQ() == "" {
		return &storefrontv1.ListProductsResponse{}, nil
	}
	a.begun <- ctx
	return &storefrontv1.ListProductsResponse{}, a.answer(ctx)
}

func startSlow(t *testing.T, answer func(context.Context) error, change ...func(*edge.Config)) (*world, *slowAPI) {
	t.Helper()
	slow := &slowAPI{api: &api{}, begun: make(chan context.Context, 10), answer: answer}
	w := start(t, append(change, func(c *edge.Config) {
		c.Services = func(opts ...connect.HandlerOption) []edge.Service {
			services := slow.services(opts...)
			for i, s := range services {
				if strings.Contains(s.Path, "ProductService") {
					services[i].Path, services[i].Handler = storefrontv1connect.NewProductServiceHandler(slow, opts...)
				}
			}
			return services
		}
	})...)
	return w, slow
}

// untilEnd waits as a statement does that waits for a lock.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestARequestEndsWithItsTime(t *testing.T) {
	t.Parallel()
	w, slow := startSlow(t, untilEnd, func(c *edge.Config) { c.Timeout = 100 * time.Millisecond })
	a := w.do(t, "GET", "/v1/products/"+productID, "")
	requireProblem(t, a, 503, apierr.Unavailable, "", "Retry-After")
	require.ErrorIs(t, context.Cause(<-slow.begun), apierr.ErrServiceTimeout)

	client := storefrontv1connect.NewProductServiceClient(plainHTTP2(t), w.url, withKey(fullKey), connect.WithGRPC())
	_, err := client.GetProduct(t.Context(), &storefrontv1.GetProductRequest{Id: productID})
	requireCallError(t, err, connect.CodeUnavailable, apierr.Unavailable)
	var c *connect.Error
	require.ErrorAs(t, err, &c)
	require.Equal(t, "1", c.Meta().Get("Retry-After"))
	require.ErrorIs(t, context.Cause(<-slow.begun), apierr.ErrServiceTimeout)
}

// A store whose share is used up waits for a slot, and is refused if none becomes free in time. Other stores use the rest.
func TestRequestsWaitForASlot(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w, slow := startSlow(t, func(context.Context) error { <-release; return nil },
		func(c *edge.Config) { c.Slots = limit.NewSlots(2, 1) })
	answers := make(chan answer, 2)
	for range 2 {
		go func() { answers <- w.do(t, "GET", "/v1/products/"+productID, "") }()
	}
	<-slow.begun
	requireProblem(t, <-answers, 503, apierr.Unavailable, "", "Retry-After")
	require.Equal(t, limit.Load{Running: 1, Refused: 1}, w.slots.Load())
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "", "Authorization: Bearer "+otherKey).status, "another store has its share")

	// Requests that need no slot get their usual refusal even now.
	require.Equal(t, 401, w.do(t, "GET", "/v1/store", "", "Authorization: ").status)
	require.Equal(t, 404, w.do(t, "GET", "/nothing", "").status)

	close(release)
	require.Equal(t, 200, (<-answers).status)
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "").status)
	require.Zero(t, w.slots.Load().Running, "every slot was given back")
}

// A search reads all rows of a store, so only a quarter of the store's slots, here one, may search. The others wait without a
// slot.
func TestSearchesOfAStoreAreFewAtATime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w, slow := startSlow(t, func(context.Context) error { <-release; return nil },
		func(c *edge.Config) { c.Slots = limit.NewSlots(8, 4) })
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- w.do(t, "GET", "/v1/products?q=a", "") }()
	}
	require.Eventually(t, func() bool { return w.slots.Load().Waiting == cap(answers)-1 }, time.Minute, time.Millisecond)
	<-slow.begun
	require.Equal(t, 1, w.slots.Load().Running, "the others wait without a slot")
	require.Equal(t, 200, w.do(t, "GET", "/v1/products", "").status, "what does not search is served")
	go func() { answers <- w.do(t, "GET", "/v1/products?q=a", "", "Authorization: Bearer "+otherKey) }()
	<-slow.begun
	close(release)
	for range cap(answers) + 1 {
		require.Equal(t, 200, (<-answers).status)
	}
	require.Zero(t, w.slots.Load().Running+w.slots.Load().Waiting)
}

func TestEverySlotIsGivenBack(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *edge.Config) { c.Slots = limit.NewSlots(1, 1) })
	large := strings.Repeat("x", edge.MaxBodyBytes+1)
	for range 2 {
		for _, row := range []struct {
			method, path, body, header string
			status                     int
		}{
			{"GET", "/v1/products", "", "", 200},
			{"GET", "/v1/products?q=a", "", "", 200},
			{"GET", "/v1/store", "not read", "", 200},
			{"GET", "/v1/store", large, "", 413},
			{"GET", "/v1/nothing", "", "", 404},
			{"PUT", "/v1/products/x", "{}", "", 405},
			{"GET", "/v1/products?nope=1", "", "", 400},
			{"GET", "/v1/products/panic", "", "", 500},
			{"POST", "/v1/customers", `{"name":"N"}`, "", 201},
			{"POST", "/v1/customers", "{", "", 400},
			{"POST", "/v1/customers", "{}", "Content-Type: text/plain", 415},
			{"PATCH", "/v1/products/x", `{"title":"T"}`, "", 200},
			{"PATCH", "/v1/products/x", "{}", "Authorization: Bearer " + readKey, 403},
			{"PATCH", "/v1/products/x", large, "", 413},
			{"POST", "/v1/payment-links/x/enable", "not read", "", 200},
			{"POST", "/storefront.v1.StoreService/GetStore", "{}", "", 200},
			{"POST", "/storefront.v1.StoreService/GetStore", "{", "", 400},
		} {
			a := w.do(t, row.method, row.path, row.body, row.header)
			require.Equal(t, row.status, a.status, "%s %s: %s", row.method, row.path, a.body)
			require.Eventually(t, func() bool { return w.slots.Load().Running == 0 }, time.Minute, time.Millisecond, "%s %s", row.method,
				row.path)
		}
	}
}
