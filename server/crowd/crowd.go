// Package crowd bounds how many connections a listener has open. It reads nothing of them, and knows
// a client only by its address.
//
// A stranger can open connections and send nothing. So a listener that is full does not make new clients
// wait: each new connection takes the place of another one, chosen from some at random. Those that have
// never carried a request with a valid key go first; of those, the ones whose address has the most
// connections; of those, the oldest. A connection with such a request under way stays; if only such are
// found, the new one is closed.
package crowd

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.storefront.example/server/ratelimit"
)

// looked is how many connections are compared to choose the one that goes. If strangers have half of the
// places, one in 65,000 choices finds none of theirs.
const looked = 16

// firstReads is more often than net/http reads a connection until its first request is answered.
const firstReads = 8

// Listener accepts connections, at most so many open at a time.
type Listener struct {
	net.Listener
	places int
	proxy  func(netip.Addr) bool

	mu        sync.Mutex
	open      []*conn
	from      map[ratelimit.Client]int
	displaced uint64
}

// Listen bounds the open connections of a listener; places is at least one. proxy reports whether an address
// is that of a proxy, whose connections are those of many clients; nil means that none is.
func Listen(l net.Listener, places int, proxy func(netip.Addr) bool) *Listener {
	return &Listener{Listener: l, places: max(places, 1), proxy: proxy, from: map[ratelimit.Client]int{}}
}

// Load is the state of a listener.
type Load struct {
	// Open is how many connections are open.
	Open int
	// Displaced is how many were closed for others, or at once, since the start.
	Displaced uint64
}

// Load returns the present state.
func (l *Listener) Load() Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Load{len(l.open), l.displaced}
}

// Accept returns the next connection that has a place.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: accepted, crowd: l, since: time.Now()}
		if at, is := accepted.RemoteAddr().(*net.TCPAddr); is {
			address := at.AddrPort().Addr().Unmap()
			c.client, c.proxy = ratelimit.ClientOf(address), l.proxy != nil && l.proxy(address)
		}
		gone, entered := l.enter(c)
		if gone != nil {
			_ = gone.Conn.Close() // its own Close, which net/http calls next, finds its place taken
		}
		if entered {
			return c, nil
		}
	}
}

// enter gives the connection a place, if there is one. It returns the one to close.
func (l *Listener) enter(c *conn) (gone *conn, entered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.places {
		l.displaced++
		if gone = l.choose(); gone == nil {
			return c, false
		}
		l.remove(gone)
	}
	c.place = len(l.open)
	l.open = append(l.open, c)
	l.from[c.client]++
	return gone, true
}

// choose returns the connection that goes, nil if each that it looks at is in use.
func (l *Listener) choose() (goes *conn) {
	for at := range min(looked, len(l.open)) {
		if len(l.open) > looked {
			at = rand.IntN(len(l.open))
		}
		if c := l.open[at]; c.held.Load() == 0 && (goes == nil || c.before(goes)) {
			goes = c
		}
	}
	return goes
}

// remove takes the place of an open connection away, once.
func (l *Listener) remove(c *conn) {
	if c.place >= len(l.open) || l.open[c.place] != c {
		return
	}
	last := l.open[len(l.open)-1]
	l.open[c.place], last.place = last, c.place
	l.open[len(l.open)-1] = nil
	l.open = l.open[:len(l.open)-1]
	if l.from[c.client]--; l.from[c.client] == 0 {
		delete(l.from, c.client)
	}
}

// conn is an open connection.
type conn struct {
	net.Conn
	crowd  *Listener
	client ratelimit.Client
	proxy  bool
	since  time.Time
	place  int // in crowd.open
	// reads is how often it was read, up to firstReads.
	reads int
	// known is set once it has carried a request with a valid key; held is how many it carries now.
	known atomic.Bool
	held  atomic.Int64
}

// before reports whether the connection goes before another one.
func (c *conn) before(other *conn) bool {
	switch a, b := c.neighbours(), other.neighbours(); {
	case c.known.Load() != other.known.Load():
		return other.known.Load()
	case a != b:
		return a > b
	}
	return c.since.Before(other.since)
}

// neighbours is how many connections its client has.
func (c *conn) neighbours() int {
	if c.proxy {
		return 1
	}
	return c.crowd.from[c.client]
}

// Read lets others go first, as long as the connection has had no request with a valid key. It does not at the first
// reads: under load whoever yields waits so long that a client which comes to ask once, with a valid key, has left.
func (c *conn) Read(p []byte) (int, error) {
	switch {
	case c.reads < firstReads:
		c.reads++
	case !c.known.Load():
		runtime.Gosched()
	}
	return c.Conn.Read(p)
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	c.crowd.mu.Lock()
	c.crowd.remove(c)
	c.crowd.mu.Unlock()
	return c.Conn.Close()
}

// NetConn is the connection beneath.
func (c *conn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the sending half, if the connection beneath can.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connKey struct{}

// Context is an http.Server's ConnContext: it stores the connection for Hold.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Hold marks the connection of a request as one with a valid key, and keeps it from going until the returned
// function is called. On another listener it does nothing.
func Hold(ctx context.Context) (release func()) {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok {
		return func() {}
	}
	c.known.Store(true)
	c.held.Add(1)
	return func() { c.held.Add(-1) }
}
