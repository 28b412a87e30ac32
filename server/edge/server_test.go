package edge_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/edge"
)

// The server ends the answer after WriteTimeout.
func TestAnswersThatNobodyReadEnd(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(t *testing.T, address string){
		"HTTP/1": func(t *testing.T, address string) {
			c, err := net.Dial("tcp", address)
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
		},
		"HTTP/2": func(t *testing.T, address string) {
			answer, err := plainHTTP2(t).Get("http://" + address)
			require.NoError(t, err)
			require.Equal(t, 2, answer.ProtoMajor)
			t.Cleanup(func() { _ = answer.Body.Close() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan error, 1)
			server := edge.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				var err error
				for part := make([]byte, 1<<20); err == nil; {
					_, err = w.Write(part)
				}
				ended <- err
			}), edge.Timeouts{}, slog.New(slog.DiscardHandler))
			require.Equal(t, edge.WriteTimeout, server.WriteTimeout)
			server.WriteTimeout = 100 * time.Millisecond
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			go func() { _ = server.Serve(l) }()
			t.Cleanup(func() { _ = server.Close() })
			ask(t, l.Addr().String())
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(edge.WriteTimeout / 2):
				t.Fatal("the answer is still being written")
			}
		})
	}
}
