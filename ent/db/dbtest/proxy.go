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
	URL    string
	target string
	mu     sync.Mutex
	shut   bool
	conns  map[net.Conn]*atomic.Bool // true once the connection is frozen
	ended  sync.WaitGroup
}

// NewProxy starts a proxy to the database until the test ends.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{listener: listener, target: u.Host, conns: map[net.Conn]*atomic.Bool{}}
	u.Host = listener.Addr().String()
	p.URL = u.String()
	p.ended.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.ended.Go(func() { p.forward(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.Shut()
		p.ended.Wait()
	})
	return p
}

func (p *Proxy) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return
	}
	frozen := &atomic.Bool{}
	p.conns[client], p.conns[server] = frozen, frozen
	p.mu.Unlock()
	var copies sync.WaitGroup
	copies.Go(func() { _, _ = io.Copy(freezableWriter{server, frozen}, client); _ = server.Close() })
	copies.Go(func() { _, _ = io.Copy(freezableWriter{client, frozen}, server); _ = client.Close() })
	copies.Wait()
}

// freezableWriter drops everything once it is frozen.
type freezableWriter struct {
	writer io.Writer
	frozen *atomic.Bool
}

func (f freezableWriter) Write(p []byte) (int, error) {
	if f.frozen.Load() {
		return len(p), nil
	}
	return f.writer.Write(p)
}

// Freeze silences the current connections, as when a server vanishes behind a proxy. New ones work.
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

// Reset cuts all connections with a reset, as a balancer does with idle ones. New ones work.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
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
