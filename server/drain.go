package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// silentPatience is how long a connection that has sent no request may delay the end.
	silentPatience = time.Second
	// goAwayPatience is the same for a connection that was asked to close and has no request in
	// progress: net/http closes an HTTP/2 connection a second after GOAWAY.
	goAwayPatience = 1500 * time.Millisecond
	// settleInterval is how often a stopping server checks whether its requests have ended.
	settleInterval = 2 * time.Millisecond
)

// drain gives the callers of a stopping server time to move elsewhere before it closes their
// connections. http.Server.Shutdown alone cuts them: it drops requests that it has read but not
// passed on, and resets connections that the system has made but it has not accepted.
type drain struct {
	delay   time.Duration
	leaving atomic.Bool
	mu      sync.Mutex
	conns   map[net.Conn]phase
}

// phase is the state of a connection.
type phase int

const (
	silent  phase = iota // it has sent no request yet
	active               // it has a request under way
	idle                 // it may be closed
	leaving              // it was answered while the server drained, and is still open
)

func newDrain(delay time.Duration) *drain {
	return &drain{delay: delay, conns: map[net.Conn]phase{}}
}

// wait waits for the signal to stop, and then for the delay. During the delay requests are served
// as before, and each response closes its connection. A load balancer sees /readyz fail and sends
// no more, so that no client is left on a connection that is about to close.
func (d *drain) wait(stop context.Context) {
	<-stop.Done()
	d.leaving.Store(true)
	time.Sleep(d.delay)
}

// handler asks callers to close their connections while the server drains. On HTTP/2, net/http
// turns the header into GOAWAY.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// note is the http.Server's ConnState.
func (d *drain) note(c net.Conn, state http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case state == http.StateNew:
		d.conns[c] = silent
	case state == http.StateActive:
		d.conns[c] = active
	case state == http.StateIdle && d.leaving.Load():
		d.conns[c] = leaving
	case state == http.StateIdle:
		d.conns[c] = idle
	default: // closed
		delete(d.conns, c)
	}
}

// settle runs after the listener is closed. It waits until every request has its response or the
// context ends, and closes the connections that have sent none.
func (d *drain) settle(ctx context.Context) {
	began := time.Now()
	look := time.NewTicker(settleInterval)
	defer look.Stop()
	for !d.settled(time.Since(began)) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// settled reports whether no connection is worth waiting for any longer.
func (d *drain) settled(waited time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c, p := range d.conns {
		switch {
		case p == active, p == silent && waited < silentPatience, p == leaving && waited < goAwayPatience:
			return false
		case p == silent:
			_ = c.Close()
		}
	}
	return true
}

// lastAccepting is a listener that still accepts pending connections when it is closed: closing
// alone resets them.
type lastAccepting struct {
	net.Listener
	mu   sync.Mutex
	last []net.Conn
}

// Accept returns the next connection; after Close, those that were still pending.
func (l *lastAccepting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		return c, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return nil, err
	}
	c, l.last = l.last[0], l.last[1:]
	return c, nil
}

// Close ends the listening.
func (l *lastAccepting) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, acceptPending(l.Listener)...)
	return l.Listener.Close()
}
