package conformance_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// cable is a proxy to a database that a test can cut.
type cable struct {
	net.Listener
	mu    sync.Mutex
	ends  []net.Conn
	isCut bool
}

func newCable(t *testing.T) (string, *cable) {
	t.Helper()
	u, err := url.Parse(dbtest.URL(t, dbtest.Postgres))
	require.NoError(t, err)
	far := u.Host
	if u.Port() == "" {
		far = net.JoinHostPort(u.Hostname(), "5432")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{Listener: l}
	t.Cleanup(c.cut)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.join(near, far)
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), c
}

func (c *cable) join(near net.Conn, address string) {
	far, err := net.Dial("tcp", address)
	if err != nil {
		_ = near.Close()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, near, far)
	if c.isCut {
		_, _ = near.Close(), far.Close()
		return
	}
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = near.Close(), far.Close()
		}()
	}
}

func (c *cable) cut() {
	_ = c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, end := range c.ends {
		_ = end.Close()
	}
}

// With the specification's 503. The admin listener is not ready.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	s := throughCable(t, dbtest.Postgres)
	b := s.newBench(t, restProtocol{})
	id := b.product("Guide", 1500)
	require.Equal(t, http.StatusOK, s.status(t, "/readyz"))
	s.cable.cut()
	for _, f := range protocols() {
		for _, op := range operations {
			a := b.withProtocol(f).answer(op.m)
			require.Nil(t, b.refusedAs(a, http.StatusServiceUnavailable, "unavailable"))
			require.NotContains(t, a.body["message"], "127.0.0.1")
			b.rate(a, 120, 30)
		}
	}
	a := b.json("PATCH", "/v1/products/"+id, `{"title":"x"}`)
	b.refusedAs(a, http.StatusServiceUnavailable, "unavailable")
	b.refusedAs(b.withKey("").answer(&getStore{}), http.StatusUnauthorized, "api_key_missing")
	require.Eventually(t, func() bool { return s.status(t, "/readyz") == http.StatusServiceUnavailable }, time.Minute,
		10*time.Millisecond,
		"what was seen a second ago no longer holds")
	require.Equal(t, http.StatusOK, s.status(t, "/healthz"))
}

// Every service answers with 503 and Retry-After while the database is away.
func TestTheOperatorsSideSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	s := throughCable(t, dbtest.Postgres)
	s.cable.cut()
	for _, path := range []string{"/readyz", "/dashboard/webhooks",
		"/storefront.admin.v1.StoreService/ListStores?encoding=json&message=%7B%7D"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.admin+path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+operatorToken)
		request.Header.Set("Cookie", "storefront_session=somebody's")
		answer, err := s.plain.Do(request)
		require.NoError(t, err, path)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, path)
		require.Equal(t, "1", answer.Header.Get("Retry-After"), path)
	}
}

func (s *installation) status(t *testing.T, path string) int {
	t.Helper()
	response, err := s.plain.Get("http://" + s.admin + path)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
