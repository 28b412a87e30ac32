package db

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// channel is the PostgreSQL notification channel of Announce and Listen.
const channel = "storefront_outbox"

const (
	// announceGap is the least time between two notifications. Each is a commit that locks the
	// database's whole notification queue, and one serves as well as many.
	announceGap = 5 * time.Millisecond
	// announceTimeout bounds one notification, and the wait for the last one when the store closes.
	announceTimeout = 2 * time.Second
	// pingInterval is how often a listener asks the server whether it is alive, and mostSilence after how
	// long without a word the listener takes it for gone and reconnects.
	pingInterval = 5 * time.Second
	mostSilence  = 3 * pingInterval
	// leastReconnect and mostReconnect bound the growing pause before a lost listener reconnects.
	leastReconnect = 100 * time.Millisecond
	mostReconnect  = 5 * time.Second
)

// announcer notifies listeners of new work.
type announcer interface {
	announce()
	listen(ctx context.Context) <-chan struct{}
	close()
}

// Announce notifies listeners of a new event or delivery. It neither waits nor fails: workers also
// poll. WithTx calls it for the rows that it adds to the outbox.
func (s *DB) Announce() { s.announcer.announce() }

// Listen returns a channel that gets a value after Announce by any process; on SQLite, another
// process's commit stands for its Announce. One value may stand for several calls, and some may be lost.
// One value comes whenever a lost connection is restored. Listening ends with the context.
func (s *DB) Listen(ctx context.Context) <-chan struct{} { return s.announcer.listen(ctx) }

// raise sets a signal, unless it is set already.
func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// listeners are those of one process.
type listeners struct{ signals sync.Map } // of chan struct{}

func (l *listeners) announce() {
	l.signals.Range(func(signal, _ any) bool {
		raise(signal.(chan struct{}))
		return true
	})
}

// add returns a new listener's signal.
func (l *listeners) add(ctx context.Context) chan struct{} {
	signal := make(chan struct{}, 1)
	l.signals.Store(signal, nil)
	context.AfterFunc(ctx, func() { l.signals.Delete(signal) })
	return signal
}

func (l *listeners) close() {}

// notifier notifies on PostgreSQL, after the commit, on its own connection: a NOTIFY inside a
// writing transaction holds a lock during its commit that serialises all writers of the database.
type notifier struct {
	connect *connector
	url     string
	start   sync.Once
	signal  chan struct{}
	ended   chan struct{}

	mu     sync.Mutex
	closed bool
}

func newNotifier(connect *connector, databaseURL string) *notifier {
	return &notifier{connect: connect, url: databaseURL, signal: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (n *notifier) announce() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.start.Do(func() { go n.run() })
		raise(n.signal)
	}
}

// run sends one notification for all signals since the previous one.
func (n *notifier) run() {
	defer close(n.ended)
	db := sql.OpenDB(n.connect)
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	for range n.signal {
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// A lost notification costs listeners the time until their next poll.
		_, _ = db.ExecContext(ctx, "NOTIFY "+channel)
		cancel()
		time.Sleep(announceGap)
	}
}

// close sends what is pending, so that a command that writes and exits still notifies.
func (n *notifier) close() {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return
	}
	n.closed = true
	close(n.signal)
	n.mu.Unlock()
	n.start.Do(func() { close(n.ended) })
	<-n.ended
}

func (n *notifier) listen(ctx context.Context) <-chan struct{} {
	signal := make(chan struct{}, 1)
	listener := pq.NewDialListener(listenerDialer{newDialer()}, listenerURL(n.url), leastReconnect, mostReconnect, nil)
	go func() {
		defer func() { _ = listener.Close() }()
		// It waits for its first connection, and asks again while the server refuses, as a standby does.
		for listener.Listen(channel) != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(mostReconnect):
			}
		}
		ping := time.NewTicker(pingInterval)
		defer ping.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-listener.Notify: // nil after a lost connection is restored
				raise(signal)
			case <-ping.C:
				// The listener detects a broken connection and replaces it; nothing needs its error.
				_ = listener.Ping()
			}
		}
	}()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return signal
}

// listenerDialer dials for a listener, whose driver waits for each answer without limit.
type listenerDialer struct{ dialer }

// DialContext connects.
func (d listenerDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	socket, err := d.dialer.DialContext(ctx, network, address)
	return &heard{Conn: socket}, err
}

// DialTimeout connects within the time.
func (d listenerDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	socket, err := d.dialer.DialTimeout(network, address, timeout)
	return &heard{Conn: socket}, err
}

// heard is a connection that breaks if nothing is heard on it for mostSilence.
type heard struct {
	net.Conn
	bounded atomic.Bool // by a deadline of the driver's, while it connects
}

// SetDeadline sets the driver's own deadline, or removes it.
func (h *heard) SetDeadline(t time.Time) error {
	h.bounded.Store(!t.IsZero())
	return h.Conn.SetDeadline(t)
}

// Read reads what comes next.
func (h *heard) Read(p []byte) (int, error) {
	if !h.bounded.Load() {
		if err := h.SetReadDeadline(time.Now().Add(mostSilence)); err != nil {
			return 0, err
		}
	}
	return h.Conn.Read(p)
}

// listenerURL returns the URL with the defaults of the store's own connections.
func listenerURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	cfg, err := postgresConfig(text)
	if err != nil {
		return text
	}
	q := u.Query()
	for name, value := range map[string]string{
		"sslmode": string(cfg.SSLMode), "connect_timeout": strconv.Itoa(int(cfg.ConnectTimeout.Seconds())),
		"target_session_attrs": string(cfg.TargetSessionAttrs),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if q.Get("application_name") == "" {
		q.Set("application_name", "storefront listener")
	}
	u.RawQuery = q.Encode()
	return u.String()
}
