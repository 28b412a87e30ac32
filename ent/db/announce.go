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

// channel is PostgreSQL's name of what Announce sends and Listen hears.
const channel = "storefront_outbox"

const (
	// announceGap is the least time between two notifications. Each is a commit that takes a lock
	// on the whole database's queue of notifications, and one tells as much as many.
	announceGap = 5 * time.Millisecond
	// announceTimeout bounds one notification, and the wait for the last one when the store closes.
	announceTimeout = 2 * time.Second
	// pingInterval is how often a silent listener looks whether its connection is still there.
	pingInterval = 30 * time.Second
	// leastReconnect and mostReconnect bound the growing pause before a lost listener connects anew.
	leastReconnect = 100 * time.Millisecond
	mostReconnect  = 5 * time.Second
)

// announcer tells listeners that there is work. On PostgreSQL it does so after the commit and on
// a connection of its own: a NOTIFY inside a writing transaction holds a lock over its commit that
// makes all writers of the database take turns.
type announcer struct {
	connect driver.Connector // nil on SQLite
	start   sync.Once
	signal  chan struct{}
	ended   chan struct{}

	mu        sync.Mutex
	listeners map[chan struct{}]struct{} // of this store
	closed    bool
}

func newAnnouncer(connect driver.Connector) *announcer {
	return &announcer{
		connect: connect, signal: make(chan struct{}, 1), ended: make(chan struct{}), listeners: map[chan struct{}]struct{}{},
	}
}

// Announce tells those who listen that there is an event or a delivery to see to. It neither
// waits nor fails: whoever works on them looks by himself from time to time. WithTx calls it for
// what it puts into the outbox.
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

// run sends one notification for all signals since the one before.
func (a *announcer) run() {
	defer close(a.ended)
	db := sql.OpenDB(a.connect)
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	for range a.signal {
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// What gets lost costs listeners the time until they look by themselves.
		_, _ = db.ExecContext(ctx, "NOTIFY "+channel)
		cancel()
		time.Sleep(announceGap)
	}
}

// close sends what is still to be sent, so that a command that writes and ends is heard.
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

// Listen returns a channel that gets a value when Announce was called, on PostgreSQL by any
// process, on SQLite on this store. Values are no count: one stands for all since the one before.
// Some may be lost, and one comes whenever a lost connection is there again. The listening ends
// with the context.
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
			case <-listener.Notify: // nil after a lost connection is there again
				raise(heard)
			case <-ping.C:
				// A broken connection is found out and replaced; its error has nobody to go to.
				_ = listener.Ping()
			}
		}
	}()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return heard
}

// listenerURL is the URL with what the store's own connections take for granted.
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
