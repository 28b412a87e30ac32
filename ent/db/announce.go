package db

import (
	"cmp"
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"
)

// channel is the name of the PostgreSQL channel over which Announce notifies Listen.
const channel = "storefront_deliveries"

const (
	// announceGap is the minimum time between two notifications, because each is a commit that locks the database's whole
	// notification queue. One notification wakes listeners as well as many do.
	announceGap = 5 * time.Millisecond
	// announceTimeout is how long one notification may take, and how long closing the database waits for the last
	// notification.
	announceTimeout = 2 * time.Second
	// defaultPingInterval is Config.PingInterval if that is 0.
	defaultPingInterval = 5 * time.Second
	// minReconnect and maxReconnect are the shortest and the longest pause before a listener that has lost its connection
	// reconnects. The pauses grow.
	minReconnect = 100 * time.Millisecond
	maxReconnect = 5 * time.Second
)

// announcer notifies listeners of new work.
type announcer interface {
	announce()
	listen(ctx context.Context) <-chan struct{}
	close()
}

// Announce notifies listeners of a new event or delivery. It neither waits nor reports errors, because workers also poll.
// hook.WithTx calls it for the deliveries that it adds.
func (d *DB) Announce() { d.announcer.announce() }

// Listen returns a channel that gets a value after any process calls Announce. On SQLite a commit of another process counts as
// a call. One value may stand for several calls, and calls may be lost, so poll as well. The channel also gets a value when a
// lost connection is restored. Listening ends with the context.
func (d *DB) Listen(ctx context.Context) <-chan struct{} { return d.announcer.listen(ctx) }

// FollowEvents returns a channel that gets a value after this process commits an event of the store, whether or not a
// webhook subscribes to it. One value may stand for several events. Commits of other processes give no value, so poll as
// well. The channel gets values until the context ends.
func (d *DB) FollowEvents(ctx context.Context, store uuid.UUID) <-chan struct{} {
	return d.followers.add(ctx, store)
}

// SignalEvents sends a value to the channels that FollowEvents returned for the store.
func (d *DB) SignalEvents(store uuid.UUID) { d.followers.notify(store) }

// notify puts a value into the channel signal, unless a value is in it already.
func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// signals are the channels on which goroutines of this process wait. Each has the id of the store whose events it signals.
// The channels of SQLite's watcher have the nil id, because they signal new work of any store.
type signals struct{ channels sync.Map } // from chan struct{} to uuid.UUID

// add returns a new channel for events of the store, and removes it when the context ends.
func (s *signals) add(ctx context.Context, store uuid.UUID) chan struct{} {
	signal := make(chan struct{}, 1)
	s.channels.Store(signal, store)
	context.AfterFunc(ctx, func() { s.channels.Delete(signal) })
	return signal
}

func (s *signals) notify(store uuid.UUID) {
	s.channels.Range(func(signal, id any) bool {
		if id == store {
			notify(signal.(chan struct{}))
		}
		return true
	})
}

// notifier sends notifications on PostgreSQL, after the commit and on a connection of its own. A NOTIFY inside the writing
// transaction would take a lock at the commit that lets only one writer of the whole database commit at a time.
type notifier struct {
	connect *connector
	url     string        // the URL that listeners connect to
	ping    time.Duration // how often a listener pings the server
	start   sync.Once
	signal  chan struct{}
	ended   chan struct{}

	mu     sync.Mutex
	closed bool
}

func newNotifier(connect *connector, listenerURL string, ping time.Duration) *notifier {
	return &notifier{connect: connect, url: listenerURL, ping: cmp.Or(ping, defaultPingInterval), signal: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (n *notifier) announce() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.start.Do(func() { go n.run() })
		notify(n.signal)
	}
}

// run sends one notification for all calls of announce since the previous notification.
func (n *notifier) run() {
	defer close(n.ended)
	db := sql.OpenDB(n.connect)
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	for range n.signal {
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// The error is ignored: after a lost notification, listeners find the new work at their next poll.
		_, _ = db.ExecContext(ctx, "NOTIFY "+channel)
		cancel()
		time.Sleep(announceGap)
	}
}

// close returns once n.run has sent the last notification, so that even a command that writes and then exits notifies
// listeners.
func (n *notifier) close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.signal)
	}
	n.mu.Unlock()
	n.start.Do(func() { close(n.ended) })
	<-n.ended
}

func (n *notifier) listen(ctx context.Context) <-chan struct{} {
	signal := make(chan struct{}, 1)
	dialer := newDialer()
	dialer.readTimeout = 3 * n.ping
	listener := pq.NewDialListener(dialer, n.url, minReconnect, maxReconnect, nil)
	go func() {
		defer func() { _ = listener.Close() }()
		// listener.Listen waits for the first connection. A standby refuses LISTEN, so try again until the server accepts it.
		for listener.Listen(channel) != nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(maxReconnect):
			}
		}
		ping := time.NewTicker(n.ping)
		defer ping.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-listener.Notify: // a nil value means that a lost connection was restored
				notify(signal)
			case <-ping.C:
				// The error is ignored: the listener itself detects and replaces a broken connection.
				_ = listener.Ping()
			}
		}
	}()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return signal
}
