package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// drain gives the callers of a stopping server time to move elsewhere before it closes their connections.
type drain struct {
	delay   time.Duration
	leaving atomic.Bool
}

// wait waits for the signal to stop, and then for the delay. During the delay the server serves requests as before, but each
// response closes its connection. A load balancer sees /readyz fail and sends no more requests, so that no client is on a
// connection when the server closes it.
func (d *drain) wait(stop context.Context) {
	<-stop.Done()
	d.leaving.Store(true)
	time.Sleep(d.delay)
}

// handler makes callers close their connections while the server drains. On HTTP/2, net/http turns the header into GOAWAY.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
