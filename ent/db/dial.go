package db

import (
	"context"
	"net"
	"time"
)

const (
	// A connection to a vanished server fails after keepAliveIdle + keepAliveCount × keepAliveInterval, on Linux also during a
	// statement.
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 2 * time.Second
	keepAliveCount    = 3
)

// socketKey is the key of the *net.Conn in a context into which the dialer puts its socket.
type socketKey struct{}

// dialer implements pq.Dialer and pq.DialerContext.
type dialer struct {
	*net.Dialer
	// readTimeout fails a connection that receives nothing for so long; 0 means no limit. Listeners set it, because lib/pq
	// would wait forever.
	readTimeout time.Duration
}

func newDialer() dialer {
	return dialer{Dialer: &net.Dialer{Control: setUserTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	}}}
}

// DialContext also stores the connection where the context's value under socketKey points.
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

// readTimeoutConn fails a read if no byte arrives within the timeout.
type readTimeoutConn struct {
	net.Conn
	timeout time.Duration
}

func (s readTimeoutConn) Read(p []byte) (int, error) {
	if err := s.SetReadDeadline(time.Now().Add(s.timeout)); err != nil {
		return 0, err
	}
	return s.Conn.Read(p)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
