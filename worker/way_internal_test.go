package worker

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// way is a proxy to PostgreSQL that can be closed and opened again.
type way struct {
	net.Listener
	url   string
	to    string
	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]*atomic.Bool // whether it is frozen
	ended sync.WaitGroup
}

func newWay(t testing.TB, database string) *way {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{Listener: listener, to: u.Host, conns: map[net.Conn]*atomic.Bool{}}
	u.Host = listener.Addr().String()
	w.url = u.String()
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
		w.close()
		w.ended.Wait()
	})
	return w
}

// pass forwards a connection to the database, unless the way is closed.
func (w *way) pass(from net.Conn) {
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

// freeze makes the connections of now silent, as when a server vanishes behind a proxy. New ones pass.
func (w *way) freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, frozen := range w.conns {
		frozen.Store(true)
	}
}

// close breaks all connections and lets none through.
func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

func (w *way) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = false
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all that was logged.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// waitFor waits until a message was logged.
func (l *lines) waitFor(t testing.TB, message string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(l.String(), message) }, hangGuard, time.Millisecond)
}
