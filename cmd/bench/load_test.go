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

// anyID is the id of every object that the service of newService creates.
const anyID = "019a0c5e-7b1c-7c3e-8f00-00000000000a"

// newService serves /made, which creates an object, /busy with 503, /breaks, which breaks the connection off, and no other path.
func newService(t *testing.T) (address string, c *client) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /made", func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		if h.Get("Authorization") != "Bearer svc_live_x" || h.Get("Content-Type") != "application/json" || r.ContentLength != 7 {
			return // 200, without an id
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"` + anyID + `"}`))
	})
	mux.HandleFunc("GET /busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
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
	made := c.call(request{method: "POST", path: "/made", key: "svc_live_x", body: `{"a":1}`}, due)
	require.Equal(t, served, made.verdict)
	require.Equal(t, anyID, made.created.String())
	require.GreaterOrEqual(t, made.took, time.Second, "its time counts from when it was due")

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	nobody := newClient(at(gone.Addr().String()))
	for _, row := range []struct {
		why    string
		client *client
		path   string
		what   string
	}{
		{"no answer", c, "/breaks", "no answer: "},
		{"nobody there", nobody, "/made", "no answer: dial: "},
		{"another answer", c, "/other", "404 without our body"},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			failed := row.client.call(request{method: "GET", path: row.path}, time.Now())
			require.Equal(t, wrong, failed.verdict)
			require.Contains(t, failed.problem, row.what)
		})
	}
}

func TestClientsWaitForTheirAnswers(t *testing.T) {
	t.Parallel()
	address, _ := newService(t)
	var asked atomic.Int64
	loop := closedLoop{address: address, clients: 3, pause: time.Hour, next: func() request {
		asked.Add(1)
		return request{method: "GET", path: "/other"}
	}}
	calls, took, err := loop.run(t.Context(), 2*time.Second)
	require.NoError(t, err)
	require.Len(t, calls, 3, "each pauses after its refusal")
	require.EqualValues(t, 3, asked.Load())
	require.GreaterOrEqual(t, took, 2*time.Second, "and until the end")

	loop.pause, loop.heedRetryAfter = 0, true
	loop.next = func() request { return request{method: "GET", path: "/busy"} }
	calls, _, _ = loop.run(t.Context(), time.Second)
	require.Len(t, calls, 3, "as long as Retry-After says")

	loop.strict = true
	loop.next = func() request { return request{method: "GET", path: "/other"} }
	_, _, err = loop.run(t.Context(), time.Hour)
	require.EqualError(t, err, "answered 404 without our body")
}

func TestASteadyRateWaitsForNobody(t *testing.T) {
	t.Parallel()
	address, _ := newService(t)
	var asked atomic.Int64
	loop := &openLoop{address: at(address), rate: 100, next: func() request {
		asked.Add(1)
		return request{method: "POST", path: "/made", key: "svc_live_x", body: `{"a":1}`}
	}}
	for range 2 {
		loop.start(t.Context())
		require.NoError(t, wait(t.Context(), 200*time.Millisecond))
		calls := loop.stop()
		require.NotEmpty(t, calls)
		for n, c := range calls {
			require.Equal(t, served, c.verdict)
			require.Equal(t, time.Duration(n)*10*time.Millisecond, c.due.Sub(calls[0].due).Round(time.Millisecond))
		}
	}
	require.Greater(t, asked.Load(), int64(1))
}
