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

// Proxy is a proxy to PostgreSQL whose connections a test can freeze or cut.
type Proxy struct {
	listener net.Listener
	// URL is the database's URL through the proxy.
	URL   string
	to    string
	mu    sync.Mutex
	shut  bool
	conns map[net.Conn]*atomic.Bool // the open connections; the value is true once the connection is frozen
	ended sync.WaitGroup
}

// NewProxy returns a proxy to the database that runs until the test ends.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: listener, to: u.Host, conns: map[net.Conn]*atomic.Bool{}}
	u.Host = listener.Addr().String()
	p.URL = u.String()
	p.ended.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.ended.Go(func() { p.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.Shut()
		p.ended.Wait()
	})
	return p
}

// pass forwards a connection to the database, unless the proxy is shut.
func (p *Proxy) pass(from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return
	}
	frozen := &atomic.Bool{}
	p.conns[from], p.conns[to] = frozen, frozen
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(freezing{to, frozen}, from); _ = to.Close() })
	both.Go(func() { _, _ = io.Copy(freezing{from, frozen}, to); _ = from.Close() })
	both.Wait()
}

// freezing is a writer that drops everything once it is frozen.
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

// Freeze silences the current connections, as when a server vanishes behind a proxy. New connections work.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, frozen := range p.conns {
		frozen.Store(true)
	}
}

// Shut cuts all connections and refuses new ones.
func (p *Proxy) Shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for conn := range p.conns {
		_ = conn.Close()
	}
	clear(p.conns)
}

// Open accepts connections again after Shut.
func (p *Proxy) Open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
}
