package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net/url"
	"strconv"
	"sync"
	"time"

	"entgo.io/ent/dialect"
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
	// pingInterval is how often a silent listener checks that its connection is alive.
	pingInterval = 30 * time.Second
	// leastReconnect and mostReconnect bound the growing pause before a lost listener reconnects.
	leastReconnect = 100 * time.Millisecond
	mostReconnect  = 5 * time.Second
)

// announcer notifies listeners of new work. On PostgreSQL it does so after the commit, on its own
// connection: a NOTIFY inside a writing transaction holds a lock during its commit that serialises
// all writers of the database.
type announcer struct {
	connect driver.Connector // nil on SQLite
	start   sync.Once
	signal  chan struct{}
	ended   chan struct{}

	mu        sync.Mutex
	listeners map[chan struct{}]struct{} // in this process
	closed    bool
}

func newAnnouncer(connect driver.Connector) *announcer {
	return &announcer{
		connect: connect, signal: make(chan struct{}, 1), ended: make(chan struct{}), listeners: map[chan struct{}]struct{}{},
	}
}

// Announce notifies listeners of a new event or delivery. It neither waits nor fails: workers also
// poll. WithTx calls it for the rows that it adds to the outbox.
func (s *DB) Announce() {
	a := s.announcer
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.connect == nil {
		for l := range a.listeners {
			raise(l)
		}
		return
	}
	a.start.Do(func() { go a.run() })
	raise(a.signal)
}

// raise sets a signal, unless it is set already.
func raise(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// run sends one notification for all signals since the previous one.
func (a *announcer) run() {
	defer close(a.ended)
	db := sql.OpenDB(a.connect)
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	for range a.signal {
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// A lost notification costs listeners the time until their next poll.
		_, _ = db.ExecContext(ctx, "NOTIFY "+channel)
		cancel()
		time.Sleep(announceGap)
	}
}

// close sends what is pending, so that a command that writes and exits still notifies.
func (a *announcer) close() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.closed = true
	close(a.signal)
	a.mu.Unlock()
	a.start.Do(func() { close(a.ended) })
	<-a.ended
}

// Listen returns a channel that gets a value after Announce: on PostgreSQL by any process, on
// SQLite in this process. One value may stand for several calls, and some may be lost. One value
// comes whenever a lost connection is restored. Listening ends with the context.
func (s *DB) Listen(ctx context.Context) <-chan struct{} {
	heard := make(chan struct{}, 1)
	if s.dialect == dialect.SQLite {
		a := s.announcer
		a.mu.Lock()
		a.listeners[heard] = struct{}{}
		a.mu.Unlock()
		context.AfterFunc(ctx, func() {
			a.mu.Lock()
			delete(a.listeners, heard)
			a.mu.Unlock()
		})
		return heard
	}
	listener := pq.NewDialListener(newDialer(), listenerURL(s.url), leastReconnect, mostReconnect, nil)
	go func() {
		defer func() { _ = listener.Close() }()
		// It waits for its first connection.
		if err := listener.Listen(channel); err != nil {
			return
		}
		ping := time.NewTicker(pingInterval)
		defer ping.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-listener.Notify: // nil after a lost connection is restored
				raise(heard)
			case <-ping.C:
				// The listener detects a broken connection and replaces it; nothing needs its error.
				_ = listener.Ping()
			}
		}
	}()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return heard
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
