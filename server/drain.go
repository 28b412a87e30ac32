package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// drain delays the end of a server: after the signal to stop, the server serves for a while, so that its callers can move to
// another server.
type drain struct {
	delay    time.Duration
	draining atomic.Bool
}

// wait waits for the signal to stop, and then for the delay. During the delay the server serves requests as before, but each
// answer closes its connection, and /readyz fails. So a load balancer sends new requests elsewhere, and no client loses a
// request when the server closes its connections.
func (d *drain) wait(stop context.Context) {
	<-stop.Done()
	d.draining.Store(true)
	time.Sleep(d.delay)
}

// handler adds "Connection: close" to every answer during the delay, so that callers open new connections, to other servers.
// On HTTP/2, net/http sends GOAWAY in place of this header.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
