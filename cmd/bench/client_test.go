package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientReadsAnswersOfEveryFraming(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20_000)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /short", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("GET /long", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(long)) })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Key", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusCreated)
		text := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(text)
		_, _ = w.Write(append(text, r.Header.Get("Authorization")...))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := dial(t.Context(), server.Listener.Addr().String())
	require.NoError(t, err)
	defer c.close()

	w := newWriter(1)
	w.key = "svc_live_x"
	for range 2 { // one after the other on one connection: each must be read to its very end
		w.get("/sho", "rt")
		status, body, err := c.do(w.text)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Equal(t, "{}", string(body))

		w.get("/long", "")
		status, body, err = c.do(w.text)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Equal(t, long, string(body), "chunked, for its length is not known beforehand")

		w.post("/echo", `{"a":1}`)
		status, body, err = c.do(w.text)
		require.NoError(t, err)
		require.Equal(t, 201, status)
		require.Equal(t, `{"a":1}Bearer svc_live_x`, string(body))
	}
	w.get("/missing", "")
	status, _, err := c.do(w.text)
	require.NoError(t, err)
	require.Equal(t, 404, status, "a refusal is an answer; the load decides")
}

func TestClientRefusesWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ why, answer string }{
		{"another protocol", "SSH-2.0-OpenSSH\r\n\r\n"},
		{"a status that is no number", "HTTP/1.1 2x0 OK\r\n\r\n"},
		{"a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n"},
		{"a body cut short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"},
		{"no answer", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			go func() {
				buffer := make([]byte, 1024)
				_, _ = theirs.Read(buffer)
				_, _ = theirs.Write([]byte(row.answer))
				_ = theirs.Close()
			}()
			c := newClient(ours)
			defer c.close()
			w := newWriter(1)
			w.get("/", "")
			_, _, err := c.do(w.text)
			require.Error(t, err)
		})
	}
}
