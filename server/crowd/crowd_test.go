package crowd_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/crowd"
)

// world is a listener with few places, and the server's ends of its connections.
type world struct {
	*crowd.Listener
	t *testing.T
}

func listen(t *testing.T, places int, proxy func(netip.Addr) bool) *world {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return &world{crowd.Listen(l, places, proxy), t}
}

// visit is one connection from an address of this machine: both ends, and the context of its requests.
type visit struct {
	t              *testing.T
	client, server net.Conn
	ctx            context.Context
}

func (w *world) dial(from string) net.Conn {
	w.t.Helper()
	client, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(w.t.Context(), "tcp", w.Addr().String())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (w *world) visit(from string) visit {
	w.t.Helper()
	client := w.dial(from)
	server, err := w.Accept()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = server.Close() })
	return visit{w.t, client, server, crowd.Context(w.t.Context(), server)}
}

// requireOpen checks that what the client says arrives.
func (v visit) requireOpen() {
	v.t.Helper()
	_, err := io.WriteString(v.client, "x")
	require.NoError(v.t, err)
	_, err = io.ReadFull(v.server, make([]byte, 1))
	require.NoError(v.t, err)
}

// requireGone checks that the client was told to go.
func (v visit) requireGone() {
	v.t.Helper()
	_, err := v.client.Read(make([]byte, 1))
	require.Error(v.t, err)
	require.NoError(v.t, v.t.Context().Err())
}

const (
	stranger = "127.0.0.2"
	other    = "127.0.0.3"
)

func TestTheOldestStrangerGoes(t *testing.T) {
	t.Parallel()
	w := listen(t, 2, nil)
	first, second := w.visit(stranger), w.visit(stranger)
	third := w.visit(stranger)
	first.requireGone()
	second.requireOpen()
	third.requireOpen()
	require.Equal(t, crowd.Load{Open: 2, Displaced: 1}, w.Load())
	_ = first.server.Close() // as net/http does; the place is another's now
	require.Equal(t, 2, w.Load().Open)
	require.NoError(t, second.server.Close())
	require.Equal(t, crowd.Load{Open: 1, Displaced: 1}, w.Load())
}

func TestTheAddressWithTheMostGoesFirst(t *testing.T) {
	t.Parallel()
	w := listen(t, 3, nil)
	alone := w.visit(other)
	first, second := w.visit(stranger), w.visit(stranger)
	third := w.visit(stranger)
	first.requireGone()
	for _, v := range []visit{alone, second, third} {
		v.requireOpen()
	}
}

func TestAProxyIsManyClients(t *testing.T) {
	t.Parallel()
	w := listen(t, 5, func(a netip.Addr) bool { return a == netip.MustParseAddr(other) })
	proxied := []visit{w.visit(other), w.visit(other), w.visit(other)}
	first, second := w.visit(stranger), w.visit(stranger)
	third := w.visit(other)
	first.requireGone()
	for _, v := range append(proxied, second, third) {
		v.requireOpen()
	}
}

func TestWhoHadAKeyGoesLastAndAtWorkNever(t *testing.T) {
	t.Parallel()
	w := listen(t, 2, nil)
	working, idle := w.visit(stranger), w.visit(stranger)
	release := crowd.Hold(working.ctx)
	crowd.Hold(idle.ctx)()

	next := w.visit(other) // no stranger is there to go
	idle.requireGone()
	working.requireOpen()

	after := w.visit(other)
	next.requireGone()
	crowd.Hold(after.ctx)
	refused := w.dial(stranger)
	go func() { _, _ = w.Accept() }() // it accepts nobody until the listener closes
	_, err := refused.Read(make([]byte, 1))
	require.Error(t, err)
	require.Equal(t, crowd.Load{Open: 2, Displaced: 3}, w.Load())
	working.requireOpen()
	after.requireOpen()
	release()
}

// Silent connections beyond the places keep nobody out, whichever protocol the others speak.
func TestASilentCrowdKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	w := listen(t, 40, nil)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { defer crowd.Hold(r.Context())() }))
	s.Listener, s.Config.ConnContext = w, crowd.Context
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	var clients []*http.Client
	for _, http2 := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!http2)
		protocols.SetUnencryptedHTTP2(http2)
		transport := &http.Transport{Protocols: protocols}
		defer transport.CloseIdleConnections()
		clients = append(clients, &http.Client{Transport: transport})
	}
	for range 10 {
		for range 20 {
			w.dial(stranger)
		}
		for _, c := range clients {
			answer, err := c.Get(s.URL)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
		}
	}
	require.LessOrEqual(t, w.Load().Open, 40)
}

// Strangers who send all the time do not run on: each lets the others go first before it is read again.
func TestStrangersTakeTurns(t *testing.T) { //nolint:paralleltest // it needs the only processor
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const strangers, sent = 10, 64 << 10
	w := listen(t, strangers, nil)
	var reads atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	begin := make(chan struct{})
	for range strangers {
		v := w.visit(stranger)
		_, err := v.client.Write(make([]byte, sent))
		require.NoError(t, err)
		all.Go(func() {
			<-begin
			for range sent / 8 {
				_, _ = io.ReadFull(v.server, make([]byte, 8))
				reads.Add(1)
			}
		})
	}
	runtime.Gosched() // they wait
	close(begin)
	for range 10 {
		runtime.Gosched()
	}
	require.Less(t, reads.Load(), int64(strangers*sent/8/4))
}

// Who comes with one request does not stand behind all others again and again until it is read.
func TestNewcomersAreReadAtOnce(t *testing.T) { //nolint:paralleltest // it needs the only processor
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const newcomers = 50
	w := listen(t, newcomers, nil)
	var overtaken int
	for range newcomers {
		v := w.visit(stranger)
		_, err := v.client.Write(make([]byte, 8))
		require.NoError(t, err)
		first, other := make([]byte, 8), make(chan struct{})
		go close(other)
		_, err = v.server.Read(first)
		require.NoError(t, err)
		select {
		case <-other:
			overtaken++
		default:
			<-other
		}
	}
	require.Less(t, overtaken, newcomers/2)
}
