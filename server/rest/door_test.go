package rest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/rest"
)

// slowAPI is the API with products that take as long as the test wants, to get or to search.
type slowAPI struct {
	*api
	// begun gets the context of each such request, which ends with what answer returns.
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

func (a *slowAPI) ListProducts(ctx context.Context, r *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	if r.GetQ() == "" {
		return &storefrontv1.ListProductsResponse{}, nil
	}
	a.begun <- ctx
	return &storefrontv1.ListProductsResponse{}, a.answer(ctx)
}

// startSlow runs an edge over a slow API.
func startSlow(t *testing.T, answer func(context.Context) error, change ...func(*rest.Config)) (*world, *slowAPI) {
	t.Helper()
	slow := &slowAPI{api: &api{}, begun: make(chan context.Context, 10), answer: answer}
	w := start(t, append(change, func(c *rest.Config) {
		c.Services = func(opts ...connect.HandlerOption) []rest.Service {
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

// untilEnd waits until the work's own time is over, like a statement that waits for a lock.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestARequestEndsWithItsTime(t *testing.T) {
	t.Parallel()
	w, slow := startSlow(t, untilEnd, func(c *rest.Config) { c.Timeout = 100 * time.Millisecond })
	a := w.do(t, "GET", "/v1/products/"+productID, "")
	requireProblem(t, a, 503, apierr.Unavailable, "", "Retry-After")
	require.ErrorIs(t, context.Cause(<-slow.begun), apierr.ErrOutOfTime)

	client := storefrontv1connect.NewProductServiceClient(plainHTTP2(t), w.url, withKey(fullKey), connect.WithGRPC())
	_, err := client.GetProduct(t.Context(), &storefrontv1.GetProductRequest{Id: productID})
	requireCallError(t, err, connect.CodeUnavailable, apierr.Unavailable)
	var c *connect.Error
	require.ErrorAs(t, err, &c)
	require.Equal(t, "1", c.Meta().Get("Retry-After"))
	require.ErrorIs(t, context.Cause(<-slow.begun), apierr.ErrOutOfTime)
}

// A caller who leaves, or whose own time is over, does not cancel a short statement, because that
// would cost the database a connection.
func TestTheWorkOutlivesAnImpatientCaller(t *testing.T) {
	t.Parallel()
	ended := make(chan error)
	w, slow := startSlow(t, func(ctx context.Context) error {
		err := <-ended
		return errors.Join(err, ctx.Err())
	})
	for _, call := range []func(ctx context.Context) error{
		func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/v1/products/"+productID, nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+fullKey)
			a, err := w.client.Do(r)
			if err == nil {
				_ = a.Body.Close()
			}
			return err
		},
		func(ctx context.Context) error {
			client := storefrontv1connect.NewProductServiceClient(w.client, w.url, withKey(fullKey))
			_, err := client.GetProduct(ctx, &storefrontv1.GetProductRequest{Id: productID})
			return err
		},
		func(context.Context) error { // stays, and waits for what its own time came to
			client := storefrontv1connect.NewProductServiceClient(w.client, w.url, withKey(fullKey), timeout("700"))
			_, err := client.GetProduct(t.Context(), &storefrontv1.GetProductRequest{Id: productID})
			return err
		},
	} {
		ctx, leave := context.WithCancel(t.Context())
		began := time.Now()
		failed := make(chan error, 1)
		go func() { failed <- call(ctx) }()
		work := <-slow.begun
		leave()
		deadline, limited := work.Deadline()
		require.True(t, limited)
		require.GreaterOrEqual(t, deadline.Sub(began), rest.DefaultTimeout, "it has the service's time, not the caller's")
		// Long work is cancelled some time later.
		<-work.Done()
		require.GreaterOrEqual(t, time.Since(began), time.Second, "the caller has gone, the work goes on")
		require.NotErrorIs(t, context.Cause(work), apierr.ErrOutOfTime)
		ended <- nil
		require.Error(t, <-failed)
	}
}

// timeout tells a service by Connect's header how many milliseconds its caller has.
func timeout(milliseconds string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Connect-Timeout-Ms", milliseconds)
			return next(ctx, r)
		}
	}))
}

func TestWhatCannotBeServedInTimeIsRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w, slow := startSlow(t, func(context.Context) error { <-release; return nil },
		func(c *rest.Config) { c.Capacity = rest.Capacity{Slots: 2, StoreSlots: 1} })
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "").status, "from now on the key's store is known")
	answers := make(chan answer, 2)
	for range 2 {
		go func() { answers <- w.do(t, "GET", "/v1/products/"+productID, "") }()
	}
	<-slow.begun
	a := <-answers
	requireProblem(t, a, 503, apierr.Unavailable, "", "Retry-After")
	require.Len(t, w.gate.seen(), 2, "it was refused before it cost anything")
	require.Equal(t, 1, w.edge.Load().Running)
	require.EqualValues(t, 1, w.edge.Load().Refused)
	require.Contains(t, w.log.String(), "requests refused early")

	// A request without a key is refused as usual, and so is one for an unknown address.
	require.Equal(t, 401, w.do(t, "GET", "/v1/store", "", "Authorization: ").status)
	require.Equal(t, 404, w.do(t, "GET", "/nothing", "").status)

	close(release)
	require.Equal(t, 200, (<-answers).status)
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "").status)
	require.Zero(t, w.edge.Load().Running, "every slot was given back")
}

// All keys that were never admitted are one party, until they are admitted: slow work of one store
// delays neither known keys of others nor unknown ones.
func TestTheWorkForAnUnknownKeyIsItsStores(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w, slow := startSlow(t, func(context.Context) error { <-release; return nil },
		func(c *rest.Config) { c.Capacity = rest.Capacity{Slots: 2, StoreSlots: 1} })
	held := make(chan answer, 1)
	go func() { held <- w.do(t, "GET", "/v1/products/"+productID, "", "Authorization: Bearer "+readKey) }()
	<-slow.begun
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "", "Authorization: Bearer "+otherKey).status, "unknown, of another store")
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "", "Authorization: Bearer "+otherKey).status, "known")
	requireProblem(t, w.do(t, "GET", "/v1/store", ""), 503, apierr.Unavailable, "", "Retry-After")
	close(release)
	require.Equal(t, 200, (<-held).status)
	require.Zero(t, w.edge.Load().Running)
}

// A search reads a whole store. Those that wait for another one of their store hold no slot.
func TestSearchesOfAStoreAreFewAtATime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w, slow := startSlow(t, func(context.Context) error { <-release; return nil },
		func(c *rest.Config) { c.Capacity = rest.Capacity{Slots: 8, StoreSlots: 4} })
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "").status, "from now on the key's store is known")
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- w.do(t, "GET", "/v1/products?q=a", "") }()
	}
	require.Eventually(t, func() bool { return w.edge.Load().Waiting == cap(answers)-1 }, time.Minute, time.Millisecond)
	<-slow.begun
	require.Equal(t, 1, w.edge.Load().Running, "the others wait without a slot")
	require.Equal(t, 200, w.do(t, "GET", "/v1/products", "").status, "what does not search is served")
	go func() { answers <- w.do(t, "GET", "/v1/products?q=a", "", "Authorization: Bearer "+otherKey) }()
	<-slow.begun
	close(release)
	for range cap(answers) + 1 {
		require.Equal(t, 200, (<-answers).status)
	}
	require.Zero(t, w.edge.Load().Running+w.edge.Load().Waiting)
}

// However a request ends, its slot is free afterwards.
func TestEverySlotIsGivenBack(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *rest.Config) { c.Capacity = rest.Capacity{Slots: 1, StoreSlots: 1} })
	large := strings.Repeat("x", rest.MaxBodyBytes+1)
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
			require.Eventually(t, func() bool { return w.edge.Load().Running == 0 }, time.Minute, time.Millisecond, "%s %s", row.method, row.path)
		}
	}
}

// Large answers that nobody reads are few in memory, and those of one store leave room to the others'.
func TestLargeAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	large := &largeAPI{api: &api{}, text: strings.Repeat("x", 16<<20)} // more than the system takes for a reader
	w := start(t, func(c *rest.Config) {
		c.Services = func(opts ...connect.HandlerOption) []rest.Service {
			services := large.services(opts...)
			for i, s := range services {
				if strings.Contains(s.Path, "ProductService") {
					services[i].Path, services[i].Handler = storefrontv1connect.NewProductServiceHandler(large, opts...)
				}
			}
			return services
		}
	})
	const path, procedure = "/v1/products", "/storefront.v1.ProductService/ListProducts"
	require.Equal(t, 200, w.do(t, "GET", path, "").status)
	var idle []net.Conn
	for _, request := range []string{
		"GET " + path + " HTTP/1.1\r\n",
		"POST " + procedure + " HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
		"GET " + path + " HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n",
		"POST " + procedure + " HTTP/1.1\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n",
	} {
		c, err := net.Dial("tcp", w.addr)
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, request+"Host: x\r\nAuthorization: Bearer "+fullKey+"\r\n\r\n{}")
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 15)) // the answer has begun
		require.NoError(t, err)
		idle = append(idle, c)
	}
	requireProblem(t, w.do(t, "GET", path, ""), 503, apierr.Unavailable, "", "Retry-After")
	a := w.do(t, "POST", procedure, "{}", "Content-Type: application/json")
	require.Equal(t, 503, a.status)
	require.Contains(t, a.body, `"code":"unavailable"`)
	require.Equal(t, 200, w.do(t, "GET", "/v1/store", "").status, "small answers are sent")
	require.Equal(t, 200, w.do(t, "GET", path, "", "Authorization: Bearer "+otherKey).status, "and those of another store")
	require.NoError(t, idle[0].Close())
	require.Eventually(t, func() bool { return w.do(t, "GET", path, "").status == 200 }, time.Minute, time.Millisecond)
}

// largeAPI is the API with a large product in its list.
type largeAPI struct {
	*api
	text string
}

func (a *largeAPI) ListProducts(context.Context, *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	return &storefrontv1.ListProductsResponse{Data: []*storefrontv1.Product{{Description: a.text}}}, nil
}
