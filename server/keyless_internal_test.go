package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/dashboard/signin"
)

// Each open request holds memory while its body is awaited. Health is answered all the same.
func TestOpenRequestsWithoutATokenAreBounded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		config            Config
		path, contentType string
		answered          int
	}{
		"a sign-in form": {Config{AdminToken: "a-token-of-the-operator-for-tests"}, signin.Path[:strings.IndexByte(signin.Path, '?')],
			"application/x-www-form-urlencoded", http.StatusGone},
		"reflection at a gate without a token": {Config{AdminOpen: true}, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
			"application/grpc", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := row.config
			c.Addr, c.AdminAddr, c.DB, c.Logger = "127.0.0.1:0", "127.0.0.1:0", dbtest.New(t, dbtest.SQLite, db.Config{}),
				slog.New(slog.DiscardHandler)
			running, err := New(c)
			require.NoError(t, err)
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- running.Run(ctx) }()
			t.Cleanup(func() { stop(); require.NoError(t, <-ended) })

			protocols := new(http.Protocols)
			protocols.SetUnencryptedHTTP2(true)
			transport := &http.Transport{Protocols: protocols}
			defer transport.CloseIdleConnections()
			send := func(method, path string, body io.Reader) (int, string) {
				r, err := http.NewRequestWithContext(t.Context(), method, "http://"+running.AdminAddr().String()+path, body)
				require.NoError(t, err)
				r.Header.Set("Content-Type", row.contentType)
				answer, err := transport.RoundTrip(r)
				require.NoError(t, err)
				_, _ = io.Copy(io.Discard, answer.Body)
				require.NoError(t, answer.Body.Close())
				return answer.StatusCode, answer.Trailer.Get("Grpc-Status") + answer.Header.Get("Grpc-Status")
			}
			status, _ := send(http.MethodGet, "/healthz", nil)
			require.Equal(t, http.StatusOK, status)
			const most, more = 8, 4
			refused, answered := make(chan struct{}, most+more), make(chan int, most+more)
			var ends []*io.PipeWriter
			for range most + more {
				body, end := io.Pipe()
				ends = append(ends, end)
				go func() {
					if status, grpc := send(http.MethodPost, row.path, body); status == http.StatusServiceUnavailable || grpc == "14" {
						refused <- struct{}{}
					} else {
						answered <- status
					}
				}()
			}
			for range more {
				<-refused
			}
			status, _ = send(http.MethodGet, "/healthz", nil)
			require.Equal(t, http.StatusOK, status)
			if c.AdminToken != "" {
				client, err := rpc.NewClient("http://"+running.AdminAddr().String(), c.AdminToken)
				require.NoError(t, err)
				_, err = client.ListStores(t.Context(), nil)
				require.NoError(t, err)
			}
			for _, end := range ends {
				require.NoError(t, end.Close())
			}
			for range most {
				require.Equal(t, row.answered, <-answered)
			}
			require.Empty(t, refused)
		})
	}
}
