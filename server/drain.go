package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// drain lets the server serve for a while after the signal to stop, so that callers can move to another server.
type drain struct {
	delay    time.Duration
	draining atomic.Bool
}

// wait waits for the signal to stop, and then for the delay. Meanwhile each answer closes its connection, and /readyz fails, so
// a load balancer sends new requests elsewhere and no client loses one.
func (d *drain) wait(stop context.Context) {
	<-stop.Done()
	d.draining.Store(true)
	time.Sleep(d.delay)
}

// handler adds "Connection: close" to every answer during the delay. On HTTP/2, net/http sends GOAWAY instead.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// busy has the connections that have a request, or may get their first. The zero value is ready to use.
type busy struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// track is the ConnState of an http.Server.
func (b *busy) track(c net.Conn, state http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conns == nil {
		b.conns = map[net.Conn]struct{}{}
	}
	if state == http.StateNew || state == http.StateActive {
		b.conns[c] = struct{}{}
	} else {
		delete(b.conns, c)
	}
}

// wait waits until no connection is busy, but not longer than limit.
func (b *busy) wait(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		b.mu.Lock()
		n := len(b.conns)
		b.mu.Unlock()
		if n == 0 {
			return
		}
	}
}
