package db

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

const (
	// cancelPatience is how long a statement may continue after its context has ended, until the
	// server takes the request to cancel it. A server that is gone, or a pooler without a free
	// session, never takes it.
	cancelPatience = time.Second
	// A server that has vanished silently is given up after aliveIdle + aliveCount × aliveInterval, on
	// Linux also in the middle of a statement.
	aliveIdle     = 5 * time.Second
	aliveInterval = 2 * time.Second
	aliveCount    = 3
)

// socketKey is the context key under which the dialer returns its socket.
type socketKey struct{}

// dialer dials PostgreSQL. It implements pq.Dialer and pq.DialerContext.
type dialer struct{ *net.Dialer }

func newDialer() dialer {
	return dialer{&net.Dialer{Control: boundUnanswered, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: aliveIdle, Interval: aliveInterval, Count: aliveCount,
	}}}
}

// DialContext connects, and stores the socket in the context's place for it.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := d.Dialer.DialContext(ctx, network, address)
	if place, ok := ctx.Value(socketKey{}).(*net.Conn); ok && err == nil {
		*place = socket
	}
	return socket, err
}

// DialTimeout connects within the time.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// bound ends a round trip that continues for cancelPatience after its context has ended: the driver
// asks the server to cancel the statement and then waits for it without limit. Call the returned
// function after the round trip.
func (c *conn) bound(ctx context.Context) func() {
	if c.socket == nil || ctx.Done() == nil {
		return func() {}
	}
	var over atomic.Bool
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(cancelPatience, func() {
			if !over.Load() {
				_ = c.socket.SetDeadline(time.Unix(1, 0)) // the driver's read or write fails
			}
		})
	})
	return func() {
		over.Store(true)
		stop()
	}
}
