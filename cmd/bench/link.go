package main

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// link forwards bytes to a port of this machine. Cut, it forwards nothing, and connections stay open, as when a network fails.
// Goroutines may share it.
type link struct {
	listener net.Listener
	target   atomic.Int64 // the port to which bytes are forwarded
	cutLock  sync.RWMutex // locked while the link is cut
	mu       sync.Mutex
	open     []net.Conn
}

// newLink listens on a free port.
func newLink(port int) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener}
	l.setTarget(port)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go l.serve(from)
		}
	}()
	return l, nil
}

func (l *link) address() string    { return l.listener.Addr().String() }
func (l *link) port() int          { return l.listener.Addr().(*net.TCPAddr).Port }
func (l *link) setTarget(port int) { l.target.Store(int64(port)) } // sends new connections to another port
func (l *link) cut()               { l.cutLock.Lock() }
func (l *link) join()              { l.cutLock.Unlock() }

func (l *link) serve(from net.Conn) {
	to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.FormatInt(l.target.Load(), 10)))
	if err != nil {
		_ = from.Close()
		return
	}
	l.mu.Lock()
	l.open = append(l.open, from, to)
	l.mu.Unlock()
	go l.forward(from, to)
	l.forward(to, from)
}

// forward forwards from one connection to another until one ends, and then closes both.
func (l *link) forward(from, to net.Conn) {
	_, _ = io.Copy(cuttable{to, &l.cutLock}, from)
	_ = from.Close()
	_ = to.Close()
}

func (l *link) close() error {
	err := l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// cuttable is a Writer that waits while the link is cut.
type cuttable struct {
	io.Writer
	cutLock *sync.RWMutex
}

func (c cuttable) Write(b []byte) (int, error) {
	c.cutLock.RLock()
	defer c.cutLock.RUnlock()
	return c.Writer.Write(b)
}
