package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/grpcreflect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server"
)

type serving struct {
	*server.Server
	delay time.Duration
	stop  func() error
}

func serve(t *testing.T, d *db.DB, delay time.Duration) serving {
	t.Helper()
	running, err := server.New(server.Config{
		Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", DB: d, Logger: slog.New(slog.DiscardHandler), DrainDelay: delay,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return serving{running, delay, stop}
}

func client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// balancer sends requests to one server, and moves to the next once that is not ready.
type balancer struct {
	to atomic.Pointer[serving]
	// spare is how long the replaced server still served after that, in nanoseconds.
	spare atomic.Int64
}

func (b *balancer) url() string { return "http://" + b.to.Load().Addr().String() + "/v1/store" }

// replace stops the current server. Once it is not ready, the balancer sends requests to by.
func (b *balancer) replace(t *testing.T, by serving) {
	t.Helper()
	old := b.to.Load()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- old.stop() }()
	for {
		answer, err := http.Get("http://" + old.AdminAddr().String() + "/readyz")
		if err != nil {
			require.Greater(t, time.Since(began), old.delay, "%v", err) // on a busy machine the server may have ended already
			break
		}
		require.NoError(t, answer.Body.Close())
		if answer.StatusCode == http.StatusServiceUnavailable {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.spare.Store(int64(old.delay - time.Since(began))) // what is left of the delay; little, if the machine is busy
	b.to.Store(&by)
	require.NoError(t, <-ended)
}

func TestRollingRestartsAtFullLoadCutNobody(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	for protocol, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			const (
				restarts = 8
				callers  = 32
				delay    = 500 * time.Millisecond
			)
			var b balancer
			b.spare.Store(int64(delay))
			first := serve(t, d, delay)
			b.to.Store(&first)
			var (
				answered atomic.Int64
				over     atomic.Bool
				left     sync.WaitGroup
			)
			failures := make(chan error, callers)
			for range callers {
				c := client(t, http2)
				left.Go(func() {
					url, asked := b.url(), time.Now()
					for !over.Load() {
						last := asked
						asked = time.Now()
						leave, err := change(c, url, http2)
						switch {
						case err == nil:
							answered.Add(1)
						case time.Since(last) > time.Duration(b.spare.Load()):
							leave = true // a busy machine stopped this caller for the whole delay
						default:
							failures <- err
							return
						}
						if leave || http2 { // GOAWAY is not in the answer that an HTTP/2 client gets
							url = b.url()
						}
					}
				})
			}
			for range restarts {
				b.replace(t, serve(t, d, delay))
			}
			over.Store(true)
			left.Wait()
			close(failures)
			for err := range failures {
				require.NoError(t, err)
			}
			require.Positive(t, answered.Load())
			t.Logf("%d requests answered over %d restarts", answered.Load(), restarts)
		})
	}
}

// change sends a PATCH without a key, which is refused, and reports whether the answer closes the connection. Over HTTP/1.1 the
// body can be read only once, so that the client does not repeat the request. Over HTTP/2 it may, because GOAWAY says which
// requests were not processed.
func change(c *http.Client, url string, http2 bool) (leave bool, err error) {
	var body io.Reader = struct{ io.Reader }{http.NoBody}
	if http2 {
		body = strings.NewReader("{}")
	}
	r, err := http.NewRequest(http.MethodPatch, url, body)
	if err != nil {
		return false, err
	}
	answer, err := c.Do(r)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		return false, errors.New(answer.Status)
	}
	return answer.Close, err
}

func TestAServerThatDrainsIsNotReadyAndEndsItsConnections(t *testing.T) {
	t.Parallel()
	running := serve(t, dbtest.New(t, dbtest.SQLite, db.Config{}), 5*time.Second)
	kept, other := client(t, false), client(t, false)
	admin := "http://" + running.AdminAddr().String()
	url := "http://" + running.Addr().String() + "/v1/store"
	ask := func(c *http.Client, url string) *http.Response {
		answer, err := c.Get(url)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer
	}
	require.False(t, ask(kept, url).Close)
	require.Equal(t, http.StatusOK, ask(other, admin+"/readyz").StatusCode)
	ended := make(chan error, 1)
	go func() { ended <- running.stop() }()
	require.Eventually(t, func() bool { return ask(other, admin+"/readyz").StatusCode == http.StatusServiceUnavailable },
		time.Minute, time.Millisecond)
	for _, c := range []*http.Client{kept, client(t, false)} { // a client with an open connection, and a new client
		answer := ask(c, url)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "requests are answered as before")
		require.True(t, answer.Close, "and told not to come again")
	}
	require.NoError(t, <-ended)
	_, err := net.Dial("tcp", running.Addr().String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAStreamDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	running := serve(t, dbtest.New(t, dbtest.SQLite, db.Config{}), 0)
	stream := grpcreflect.NewClient(client(t, true), "http://"+running.Addr().String()).NewStream(t.Context())
	names, err := stream.ListServices()
	require.NoError(t, err)
	require.NotEmpty(t, names)
	stopped := make(chan error, 1)
	go func() { stopped <- running.stop() }()
	for err == nil { // until the server ends the stream
		_, err = stream.ListServices()
	}
	require.NoError(t, <-stopped)
	_, _ = stream.Close()
}

// Without keep-alive, every request has a connection that may be accepted right before the end.
func TestTheLastConnectionsAreAnswered(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	for range 10 {
		s := serve(t, d, 0)
		var callers sync.WaitGroup
		failures := make(chan error, 20)
		var answered atomic.Int64
		for range cap(failures) {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			callers.Go(func() {
				for {
					answer, err := c.Get("http://" + s.Addr().String() + "/v1/store")
					switch {
					case errors.Is(err, syscall.ECONNREFUSED):
						return
					case errors.Is(err, syscall.ECONNRESET): // the kernel had the connection, and nobody had accepted it
					case err != nil:
						failures <- err
						return
					default:
						_, _ = io.Copy(io.Discard, answer.Body)
						_ = answer.Body.Close()
						answered.Add(1)
					}
				}
			})
		}
		require.Eventually(t, func() bool { return answered.Load() > 100 }, time.Minute, time.Millisecond)
		require.NoError(t, s.stop())
		callers.Wait()
		close(failures)
		require.NoError(t, <-failures)
	}
}
