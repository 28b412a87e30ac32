package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// guardedServer serves a handler behind a guard.
func guardedServer(t *testing.T, reading time.Duration, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(guard{slog.New(slog.DiscardHandler), time.Now, handler, reading})
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A client that reads nothing of its response does not hold the response, its handler and the connection for good.
func TestAResponseThatNobodyReadsEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := guardedServer(t, 100*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for {
			if _, err := w.Write(part); err != nil {
				ended <- err
				return
			}
		}
	})
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	require.NoError(t, err)
	answer, err := keeps(t, true).Do(r)
	require.NoError(t, err)
	require.Error(t, <-ended)
	require.NoError(t, answer.Body.Close())
}

// The time to read counts from each part: a slow handler costs its client nothing, and neither does the connection's
// last response.
func TestASlowResponseIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const reading = time.Second // of a busy machine
	s := guardedServer(t, reading, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * reading)
		text, _ := io.ReadAll(r.Body) // asks the client for it, if that waits
		for _, part := range strings.Fields(string(text)) {
			_, _ = io.WriteString(w, part)
			w.(http.Flusher).Flush()
			time.Sleep(2 * reading)
		}
	})
	for protocol, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := keeps(t, http2)
			for _, body := range []string{"one two", "", "three"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
				require.NoError(t, err)
				r.Header.Set("Expect", "100-continue")
				answer, err := c.Do(r)
				require.NoError(t, err)
				text, err := io.ReadAll(answer.Body)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.Equal(t, strings.ReplaceAll(body, " ", ""), string(text))
			}
		})
	}
}

// keeps is a client that keeps its connection, and sends no body before it is asked to.
func keeps(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: protocols, ExpectContinueTimeout: time.Minute}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A client that does not read its responses cannot turn the end of a server into a failure.
func TestAServerEndsInGoodOrderWhoeverDoesNotRead(t *testing.T) {
	t.Parallel()
	running, err := New(Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", PublicDocs: true, DB: dbtest.New(t, dbtest.SQLite, db.Config{}),
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	running.patience = 100 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	for _, address := range []net.Addr{running.Addr(), running.AdminAddr()} {
		c, err := net.Dial("tcp", address.String())
		require.NoError(t, err)
		defer c.Close()
		// More than the system takes for a reader.
		_, err = io.WriteString(c, strings.Repeat("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n", 200))
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
	}
	stop()
	require.NoError(t, <-ended)
}
