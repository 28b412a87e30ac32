package db

import (
	"context"
	"net"
	"time"
)

const (
	// If the server vanishes without closing a connection, the connection fails after keepAliveIdle + keepAliveCount ×
	// keepAliveInterval. On Linux this also holds during a statement.
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 2 * time.Second
	keepAliveCount    = 3
)

// socketKey is the key under which a context has a *net.Conn: the variable into which the dialer puts the socket that it
// opens.
type socketKey struct{}

// dialer dials PostgreSQL. It implements pq.Dialer and pq.DialerContext.
type dialer struct {
	*net.Dialer
	// readTimeout is how long a connection may receive nothing before it fails; 0 means no limit. Listeners set it, because
	// lib/pq would wait forever.
	readTimeout time.Duration
}

func newDialer() dialer {
	return dialer{Dialer: &net.Dialer{Control: setUserTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	}}}
}

// DialContext connects to the address. If the context has a value under socketKey, DialContext stores the connection in the
// variable to which the value points.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if place, ok := ctx.Value(socketKey{}).(*net.Conn); ok {
		*place = socket
	}
	if d.readTimeout > 0 {
		socket = readTimeoutConn{socket, d.readTimeout}
	}
	return socket, nil
}

// readTimeoutConn is a connection on which a read fails if no byte arrives within the timeout.
type readTimeoutConn struct {
	net.Conn
	timeout time.Duration
}

// Read implements net.Conn.
func (s readTimeoutConn) Read(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(s.timeout)); err != nil {
		return 0, err
	}
	return s.Conn.Read(p)
}

// DialTimeout connects within the timeout.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
