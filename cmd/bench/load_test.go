package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// anyID is that of whatever the service below creates.
const anyID = "019a0c5e-7b1c-7c3e-8f00-00000000000a"

// newService returns a service that creates, hangs, breaks off, or fails, by the path, and a client of it.
func newService(t *testing.T) (address string, c *client) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /made", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer svc_live_x" || r.Header.Get("Content-Type") != "application/json" || r.ContentLength != 7 {
			return // 200
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"` + anyID + `"}`))
	})
	mux.HandleFunc("GET /hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /breaks", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address = server.Listener.Addr().String()
	c = newClient(at(address))
	t.Cleanup(c.close)
	return address, c
}

func TestCallsAreMade(t *testing.T) {
	t.Parallel()
	_, c := newService(t)
	due := time.Now().Add(-time.Second)
	made := c.call(request{"POST", "/made", "svc_live_x", `{"a":1}`}, due, time.Minute)
	require.Equal(t, served, made.verdict)
	require.Equal(t, anyID, made.made.String())
	require.GreaterOrEqual(t, made.took, time.Second, "its time counts from when it was due")

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	nobody := newClient(at(gone.Addr().String()))
	for _, row := range []struct {
		why    string
		client *client
		path   string
		limit  time.Duration
		what   string
	}{
		{"nothing in time", c, "/hangs", 300 * time.Millisecond, givenUp},
		{"no answer", c, "/breaks", time.Minute, "no answer: "},
		{"nobody there", nobody, "/made", time.Minute, "no answer: dial: "},
		{"another answer", c, "/other", time.Minute, "404 without our body"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			failed := row.client.call(request{method: "GET", path: row.path}, time.Now(), row.limit)
			require.Equal(t, wrong, failed.verdict)
			require.Contains(t, failed.what, row.what)
		})
	}
}

func TestClientsWaitForTheirAnswers(t *testing.T) {
	t.Parallel()
	address, _ := newService(t)
	var asked atomic.Int64
	loop := closedLoop{address: address, clients: 3, pause: time.Hour, next: func(int) request {
		asked.Add(1)
		return request{method: "GET", path: "/other"}
	}}
	calls, took, err := loop.run(t.Context(), 2*time.Second)
	require.NoError(t, err)
	require.Len(t, calls, 3, "each pauses after its refusal")
	require.EqualValues(t, 3, asked.Load())
	require.GreaterOrEqual(t, took, 2*time.Second, "and until the end")

	loop.strict = true
	_, _, err = loop.run(t.Context(), time.Hour)
	require.EqualError(t, err, "answered 404 without our body")
}

func TestASteadyRateWaitsForNobody(t *testing.T) {
	t.Parallel()
	address, _ := newService(t)
	var asked atomic.Int64
	loop := &openLoop{address: at(address), rate: 100, next: func(n int) request {
		asked.Store(int64(n))
		return request{"POST", "/made", "svc_live_x", `{"a":1}`}
	}}
	for range 2 {
		calls, err := loop.watch(t.Context(), 200*time.Millisecond)
		require.NoError(t, err)
		require.NotEmpty(t, calls)
		for n, c := range calls {
			require.Equal(t, served, c.verdict)
			require.Equal(t, time.Duration(n)*10*time.Millisecond, c.due.Sub(calls[0].due).Round(time.Millisecond))
		}
	}
	require.Greater(t, asked.Load(), int64(1), "numbers go on")
}
