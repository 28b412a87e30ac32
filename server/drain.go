package server

import (
	"context"
	"net/http"
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
