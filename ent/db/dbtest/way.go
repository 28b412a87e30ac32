package dbtest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Way is a proxy to PostgreSQL that can be closed and opened again.
type Way struct {
	listener net.Listener
	// URL is the database's by this way.
	URL   string
	to    string
	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]*atomic.Bool // whether it is frozen
	ended sync.WaitGroup
}

// NewWay returns an open way to the database, which it is until the test ends.
func NewWay(t testing.TB, database string) *Way {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &Way{listener: listener, to: u.Host, conns: map[net.Conn]*atomic.Bool{}}
	u.Host = listener.Addr().String()
	w.URL = u.String()
	w.ended.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			w.ended.Go(func() { w.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.Shut()
		w.ended.Wait()
	})
	return w
}

// pass forwards a connection to the database, unless the way is closed.
func (w *Way) pass(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	w.mu.Lock()
	if w.shut {
		w.mu.Unlock()
		return
	}
	frozen := &atomic.Bool{}
	w.conns[from], w.conns[to] = frozen, frozen
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(freezing{to, frozen}, from); _ = to.Close() })
	both.Go(func() { _, _ = io.Copy(freezing{from, frozen}, to); _ = from.Close() })
	both.Wait()
}

// freezing loses what is written to a frozen connection.
type freezing struct {
	to     io.Writer
	frozen *atomic.Bool
}

func (f freezing) Write(p []byte) (int, error) {
	if f.frozen.Load() {
		return len(p), nil
	}
	return f.to.Write(p)
}

// Freeze makes the connections of now silent, as when a server vanishes behind a proxy. New ones pass.
func (w *Way) Freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, frozen := range w.conns {
		frozen.Store(true)
	}
}

// Shut breaks all connections and lets none through.
func (w *Way) Shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

// Open lets connections through again.
func (w *Way) Open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = false
}
