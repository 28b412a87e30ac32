package limit

import (
	"net"
	"net/netip"
	"sync"
)

// Listener limits the open connections, of all clients together and of each. It closes further ones at once.
type Listener struct {
	net.Listener
	maxOpen, maxPerClient int
	proxy                 func(netip.Addr) bool

	mu        sync.Mutex
	open      int
	perClient map[netip.Prefix]int
	refused   uint64
}

// NewListener allows maxOpen connections; one client may have half. A trusted proxy, for which proxy is true, may have all.
func NewListener(l net.Listener, maxOpen int, proxy func(netip.Addr) bool) *Listener {
	return &Listener{Listener: l, maxOpen: max(maxOpen, 1), maxPerClient: max(maxOpen/2, 1), proxy: proxy,
		perClient: map[netip.Prefix]int{}}
}

// Connections returns how many are open, and how many were refused since the start.
func (l *Listener) Connections() (open int, refused uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.refused
}

// Accept returns the next connection that the limits allow.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, _ := netip.ParseAddrPort(accepted.RemoteAddr().String())
		client := ClientOf(address.Addr())
		if l.enter(client, l.proxy(address.Addr().Unmap())) {
			return &conn{accepted, sync.OnceFunc(func() { l.leave(client) })}, nil
		}
		_ = accepted.Close()
	}
}

func (l *Listener) enter(client netip.Prefix, proxy bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.maxOpen || !proxy && l.perClient[client] >= l.maxPerClient {
		l.refused++
		return false
	}
	l.open++
	l.perClient[client]++
	return true
}

func (l *Listener) leave(client netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.perClient[client]--; l.perClient[client] == 0 {
		delete(l.perClient, client)
	}
}

type conn struct {
	net.Conn
	onClose func()
}

// Close closes the connection, which then no longer counts.
func (c *conn) Close() error {
	c.onClose()
	return c.Conn.Close()
}

// CloseWrite lets a client that is still sending read the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
