package edge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/edge"
)

func (w *world) lastLine(t *testing.T) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &line))
	return line
}

func TestLogLine(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.do(t, "PATCH", "/v1/products/"+productID+"?q=asked", `{"title":"written","nope":1}`)
	line := w.lastLine(t)
	require.Equal(t, a.header.Get("X-Request-Id"), line["request_id"])
	require.Positive(t, line["duration_ms"])
	delete(line, "request_id")
	delete(line, "time")
	delete(line, "duration_ms")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "request", "protocol": "rest", "method": "PATCH", "route": "/v1/products/{id}", "status": 400.0,
		"code": "validation_failed", "store": "shop", "key_id": productID, "address": "127.0.0.1",
	}, line)
	for _, secret := range []string{fullKey, "asked", "written", productID + "?"} {
		require.NotContains(t, w.log.String(), `"`+secret)
	}
	require.Equal(t, edge.Request{
		Protocol: edge.ProtocolREST, Method: "PATCH", Route: "/v1/products/{id}", Status: 400, Code: "validation_failed",
		StoreID: uuid.MustParse(productID), KeyID: uuid.MustParse(productID), RequestID: uuid.MustParse(a.header.Get("X-Request-Id")),
		Fields: []string{"q"}, // nobody erases a name that the caller has invented
	}, w.requests()[0])

	w.do(t, "GET", "/v1/products/fails", "")
	line = w.lastLine(t)
	require.Equal(t, "ERROR", line["level"])
	require.Equal(t, "secret in an error", line["error"])
	require.Equal(t, "internal_error", line["code"])

	w.do(t, "HEAD", "/v1/payment-links/coffee", "", "Authorization", "Bearer limited")
	require.Equal(t, "/v1/payment-links/{id}", w.lastLine(t)["route"], "the owner of a key finds out what was refused")
	for path, route := range map[string]string{
		"/v1/payment-links": "/v1/payment-links", "/v1/payment-links/coffee/enable": "/v1/payment-links/{id}/enable",
		"/v1/payment-links/..": "unmatched", "/v1/payment-links//": "unmatched", "/v1": "unmatched",
	} {
		w.do(t, "PATCH", path, "", "Authorization", "Bearer limited")
		require.Equal(t, route, w.lastLine(t)["route"], path)
	}

	w.do(t, "BREW", "/coffee", "")
	last := w.requests()[8]
	last.RequestID = uuid.Nil
	require.Equal(t, edge.Request{Protocol: edge.ProtocolNone, Method: "OTHER", Route: "unmatched", Status: 404, Code: "not_found"},
		last)
	require.NotContains(t, w.log.String(), "coffee", "what a client makes up is not in the log")
}

// The queries of a client that hangs up fail, which is no error of the service.
func TestClientGone(t *testing.T) {
	t.Parallel()
	arrived, seen := make(chan struct{}), make(chan struct{})
	w := start(t, func(c *edge.Config) {
		services := c.Services
		c.Services = func(opts ...connect.HandlerOption) []edge.Service {
			all := services(append(opts, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(connect.UnaryFunc) connect.UnaryFunc {
				return func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) {
					close(arrived)
					<-ctx.Done()
					return nil, ctx.Err()
				}
			})))...)
			return all
		}
		c.Observe = func(edge.Request) { close(seen) }
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", w.url+"/v1/store", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+fullKey)
	go func() { <-arrived; cancel() }()
	_, err = w.client.Do(r) //nolint:bodyclose // An error comes without a body.
	require.ErrorIs(t, err, context.Canceled)
	<-seen
	require.NotContains(t, w.log.String(), "ERROR")
}

func TestPanicOutsideAHandler(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *edge.Config) {
		services := c.Services
		c.Services = func(opts ...connect.HandlerOption) []edge.Service {
			all := services(opts...)
			for i := range all {
				if strings.Contains(all[i].Path, "OrderService") {
					all[i].Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret in Connect") })
				}
			}
			return all
		}
		broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/test.Broken/Late" {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
			}
			panic("secret in a service")
		})
		c.Keyless = func(...connect.HandlerOption) map[string]http.Handler {
			return map[string]http.Handler{"/test.Broken/Early": broken, "/test.Broken/Late": broken}
		}
	})
	requireProblem(t, w.do(t, "GET", "/v1/orders/x", ""), 500, apierr.InternalError, "") // the handler, which vanguard calls, panics
	require.Contains(t, w.log.String(), "secret in Connect")
	a := w.do(t, "POST", "/test.Broken/Early", "{}")
	require.Equal(t, 500, a.status)
	require.NotContains(t, a.body, "secret")
	require.Contains(t, w.log.String(), "secret in a service")

	r, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/test.Broken/Late", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(r)
	if err == nil {
		_, err = res.Body.Read(make([]byte, 1))
		_ = res.Body.Close()
	}
	require.Error(t, err, "an answer that had begun is broken off")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := edge.New(edge.Config{Gate: &gate{}, Services: func(...connect.HandlerOption) []edge.Service {
		return []edge.Service{{Path: "/grpc.health.v1.Nothing/"}}
	}})
	require.ErrorContains(t, err, "grpc.health.v1.Nothing")
	edge.Created(t.Context()) // does nothing, because no request has this context
}
