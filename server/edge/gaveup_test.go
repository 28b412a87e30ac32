package edge_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

// held has handlers that do not return before the context of their request ends.
func held(t *testing.T, arrived chan<- struct{}, seen chan<- edge.Request, change ...func(*edge.Config)) *world {
	t.Helper()
	return start(t, append(change, func(c *edge.Config) {
		services := c.Services
		c.Services = func(opts ...connect.HandlerOption) []edge.Service {
			return services(append(opts, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(connect.UnaryFunc) connect.UnaryFunc {
				return func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) {
					if arrived != nil {
						arrived <- struct{}{}
					}
					<-ctx.Done()
					return nil, errors.New("driver: the statement was cut")
				}
			})))...)
		}
		c.Observe = func(r edge.Request) { r.Duration = 0; seen <- r }
	})...)
}

// It is answered with deadline_exceeded; metrics and logs show the status 499.
func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	seen := make(chan edge.Request, 1)
	w := held(t, nil, seen)
	h2 := plainHTTP2(t)
	for _, row := range []struct {
		protocol edge.Protocol
		client   *http.Client
		options  []connect.ClientOption
		header   string
	}{
		{edge.ProtocolConnect, w.client, []connect.ClientOption{connect.WithProtoJSON()}, "Connect-Timeout-Ms: 20"},
		{edge.ProtocolConnect, w.client, nil, "Connect-Timeout-Ms: 0"},
		{edge.ProtocolGRPC, h2, []connect.ClientOption{connect.WithGRPC()}, "Grpc-Timeout: 20m"},
		{edge.ProtocolGRPC, h2, []connect.ClientOption{connect.WithGRPC()}, "Grpc-Timeout: 1n"},
		{edge.ProtocolGRPCWeb, w.client, []connect.ClientOption{connect.WithGRPCWeb()}, "Grpc-Timeout: 20000u"},
	} {
		name, value, _ := strings.Cut(row.header, ": ")
		// With a deadline in its own context, the client would not wait for the server's answer.
		set := connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
				r.Header().Set(name, value)
				return next(ctx, r)
			}
		}))
		client := storefrontv1connect.NewStoreServiceClient(row.client, w.url, append(row.options, withKey(fullKey), set)...)
		_, err := client.GetStore(t.Context(), &storefrontv1.GetStoreRequest{})
		requireCallError(t, err, connect.CodeDeadlineExceeded, apierr.DeadlineExceeded)
		got := <-seen
		require.NotEqual(t, uuid.Nil, got.RequestID)
		got.RequestID = uuid.Nil
		require.Equal(t, edge.Request{
			Protocol: row.protocol, Method: "POST", Route: "/storefront.v1.StoreService/GetStore", Status: 499, Code: "deadline_exceeded",
			StoreID: uuid.MustParse(productID), KeyID: uuid.MustParse(productID),
		}, got)
		require.Equal(t, 499.0, w.lastLine(t)["status"])
	}
	require.NotContains(t, w.log.String(), "ERROR")
}

// A body that does not arrive before the server's timeout is the caller's fault.
func TestSlowCaller(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *edge.Config) { c.Timeout = 100 * time.Millisecond })
	for _, row := range []struct{ target, headers string }{
		{"/v1/customers", "Content-Type: application/json\r\nContent-Length: 9\r\n"},
		{"/v1/customers", "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"},
		{"/storefront.v1.CustomerService/CreateCustomer", "Content-Type: application/json\r\nContent-Length: 9\r\n"},
	} {
		a := w.raw(t, "POST "+row.target+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+fullKey+"\r\n"+row.headers+"\r\n")
		require.Contains(t, a.body+a.header.Get("Grpc-Message"), "did not arrive in time", row)
		line := w.lastLine(t)
		require.Equal(t, "validation_failed", line["code"], row)
		require.NotEqual(t, 499.0, line["status"], row)
	}
}

// A caller who closes the connection is no error of the service, whatever the protocol.
func TestCallerLeft(t *testing.T) {
	t.Parallel()
	arrived, seen := make(chan struct{}), make(chan edge.Request, 1)
	w := held(t, arrived, seen)
	h2 := plainHTTP2(t)
	for _, row := range []struct {
		protocol edge.Protocol
		method   string
		path     string
		types    string
		client   *http.Client
	}{
		{edge.ProtocolREST, "GET", "/v1/store", "", w.client},
		{edge.ProtocolREST, "GET", "/v1/store", "", h2},
		{edge.ProtocolConnect, "POST", "/storefront.v1.StoreService/GetStore", "application/json", w.client},
		{edge.ProtocolGRPC, "POST", "/storefront.v1.StoreService/GetStore", "application/grpc", h2},
		{edge.ProtocolGRPCWeb, "POST", "/storefront.v1.StoreService/GetStore", "application/grpc-web", w.client},
	} {
		ctx, leave := context.WithCancel(t.Context())
		body := map[bool]string{true: "{}", false: string(envelope(0, 0, nil))}[row.protocol == edge.ProtocolConnect]
		r, err := http.NewRequestWithContext(ctx, row.method, w.url+row.path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+fullKey)
		r.Header.Set("Content-Type", row.types)
		go func() { <-arrived; leave() }()
		_, err = row.client.Do(r) //nolint:bodyclose // An error comes without a body.
		require.ErrorIs(t, err, context.Canceled)
		got := <-seen
		require.Equal(t, 499, got.Status, row.protocol)
		require.Equal(t, "canceled", got.Code, row.protocol)
		require.Equal(t, row.protocol, got.Protocol)
		leave()
	}
	require.NotContains(t, w.log.String(), "ERROR")
}

// A request beyond the service's own timeout is an error of the service.
func TestOwnDeadline(t *testing.T) {
	t.Parallel()
	seen := make(chan edge.Request, 1)
	w := held(t, nil, seen)
	inner := w.edge
	limited := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeoutCause(r.Context(), 10*time.Millisecond, apierr.ErrServiceTimeout)
		defer stop()
		inner.ServeHTTP(rw, r.WithContext(ctx))
	})
	server := httptest.NewServer(limited)
	t.Cleanup(server.Close)
	w.url = server.URL
	requireProblem(t, w.do(t, "GET", "/v1/store", ""), 503, apierr.Unavailable, "", "Retry-After")
	require.Equal(t, 503, (<-seen).Status)
	a := w.post(t, "/storefront.v1.StoreService/GetStore", strings.NewReader("{}"), "Content-Type: application/json",
		"Connect-Timeout-Ms: 60000")
	require.Equal(t, "unavailable", a.protocol)
	require.Equal(t, 503, (<-seen).Status)
	require.Contains(t, w.log.String(), "ERROR")
}

// If the observer panics after the answer was sent, the answer does not change.
func TestPanicAtTheEnd(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *edge.Config) { c.Observe = func(edge.Request) { panic("secret in the metrics") } })
	for range 2 {
		require.Equal(t, 200, w.do(t, "GET", "/v1/store", "").status)
		require.Equal(t, 404, w.do(t, "GET", "/", "").status)
	}
	require.Equal(t, 4, strings.Count(w.log.String(), "secret in the metrics"))
	require.Equal(t, 4, strings.Count(w.log.String(), "ERROR"))
	require.Contains(t, w.log.String(), "gaveup_test.go", "with the stack")
}
