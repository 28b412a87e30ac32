package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

// A client sends half of a request's headers on the connection of a refused one. The timeout of headers applies, not the longer
// one of idle connections.
func TestHalfARequestAfterARefusal(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-operator-for-tests"
	d, began := dbtest.New(t, dbtest.SQLite, db.Config{}), time.Now()
	running, err := New(Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", AdminToken: token, DB: d, Logger: slog.New(slog.DiscardHandler),
		Clock:          func() time.Time { return began },
		Timeouts:       edge.Timeouts{ReadHeader: 2 * time.Second},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	o := admin.New(d, admin.Options{})
	store, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	made, err := o.CreateKey(t.Context(), &adminv1.CreateKeyRequest{Store: "s", Name: "k", Scopes: []string{"store:read",
		"products:write", "customers:write"}, Lifetime: adminv1.Key_DAYS_30})
	require.NoError(t, err)
	for _, owner := range []uuid.UUID{limit.Operator, uuid.MustParse(store.GetId())} {
		for range d.Conns() / 2 { // take all slots that one owner may have
			_, err := running.slots.Acquire(t.Context(), owner, false)
			require.NoError(t, err)
		}
	}

	key, json := "Authorization: Bearer "+made.GetSecret()+"\r\n", "Content-Type: application/json\r\n"
	bearer, rpc := "Authorization: Bearer "+token+"\r\n", "POST /storefront.admin.v1.StoreService/"
	large := "Content-Length: 2000000\r\n\r\n"
	limited := "X-Forwarded-For: 203.0.113.9\r\nAuthorization: Bearer nobody\r\n"
	for range limit.UnknownKeysPerMinute + 1 {
		r, err := http.NewRequest(http.MethodGet, "http://"+running.Addr().String()+"/v1/store", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer nobody")
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	var all sync.WaitGroup
	for _, row := range []struct {
		address net.Addr
		request string
		status  int
	}{
		{running.Addr(), "GET /v1/store HTTP/1.1\r\nHost: x\r\n\r\n", 401},
		{running.Addr(), "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 404},
		{running.Addr(), "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{running.Addr(), "GET /v1/products?nope=1 HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 400},
		{running.Addr(), "GET /v1/orders HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 403},
		{running.Addr(), "PUT /v1/products HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 405},
		{running.Addr(), "POST /v1/customers HTTP/1.1\r\nHost: x\r\n" + key + json + large, 413},
		{running.Addr(), "POST /v1/customers HTTP/1.1\r\nHost: x\r\n" + key + "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx",
			415},
		{running.Addr(), "GET /v1/store HTTP/1.1\r\nHost: x\r\n" + limited + "\r\n", 429},
		{running.Addr(), "GET /v1/store HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 503},
		{running.Addr(), "POST /storefront.v1.StoreService/GetStore HTTP/1.1\r\nHost: x\r\n" + key + json +
			"Content-Length: 1\r\n\r\n{", 400},
		{running.Addr(), "POST /storefront.v1.StoreService/GetStore HTTP/1.1\r\nHost: x\r\n" + json + "Content-Length: 2\r\n\r\n{}",
			401},
		{running.AdminAddr(), "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{running.AdminAddr(), "GET /dashboard/keys HTTP/1.1\r\nHost: x\r\n\r\n", 401},
		{running.AdminAddr(), "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405},
		{running.AdminAddr(), rpc + "GetStoreSettings HTTP/1.1\r\nHost: x\r\n" + json + "Content-Length: 2\r\n\r\n{}", 401},
		{running.AdminAddr(), rpc + "GetStoreSettings HTTP/1.1\r\nHost: x\r\n" + bearer + json + "Content-Length: 1\r\n\r\n{", 400},
		{running.AdminAddr(), rpc + "GetStoreSettings HTTP/1.1\r\nHost: x\r\n" + bearer + "Content-Type: text/plain\r\nContent-Length: " +
			"1\r\n\r\nx", 415},
		// Connect answers resource_exhausted with status 429.
		{running.AdminAddr(), rpc + "GetStoreSettings HTTP/1.1\r\nHost: x\r\n" + bearer + json + large, 429},
		{running.AdminAddr(), rpc + "GetStoreSettings HTTP/1.1\r\nHost: x\r\n" + bearer + json + "Content-Length: 13\r\n\r\n{\"store\":\"s\"}",
			503},
	} {
		all.Go(func() {
			name := row.address.String() + " " + row.request
			c, err := net.Dial("tcp", row.address.String())
			if !assert.NoError(t, err, name) {
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(edge.IdleTimeout / 2))
			_, _ = io.WriteString(c, row.request)
			reader := bufio.NewReader(c)
			answer, err := http.ReadResponse(reader, nil)
			if !assert.NoError(t, err, name) {
				return
			}
			_, err = io.Copy(io.Discard, answer.Body)
			assert.NoError(t, err, name)
			assert.Equal(t, row.status, answer.StatusCode, name)
			if row.status == http.StatusServiceUnavailable {
				assert.Equal(t, "1", answer.Header.Get("Retry-After"), name)
			}
			_, _ = io.WriteString(c, "GET /v1/store HTTP/1.1\r\nHo") // fails if the server has hung up
			_, err = io.Copy(io.Discard, reader)
			assert.False(t, errors.Is(err, os.ErrDeadlineExceeded), "%s: still open", name)
		})
	}
	all.Wait()
}
