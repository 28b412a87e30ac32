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

const channel = "storefront_deliveries"

const (
	// announceGap keeps notifications apart, because each is a commit that locks the database's whole notification queue.
	announceGap = 5 * time.Millisecond
	// announceTimeout limits a notification, and the wait for the last one when the database closes.
	announceTimeout     = 2 * time.Second
	defaultPingInterval = 5 * time.Second
	// minReconnect grows to maxReconnect with each attempt of a listener to reconnect.
	minReconnect = 100 * time.Millisecond
	maxReconnect = 5 * time.Second
)

type announcer interface {
	announce()
	listen(ctx context.Context) <-chan struct{}
	close()
}

// Announce notifies listeners of a new event or delivery. It neither waits nor reports errors, because workers also poll.
// hook.Run calls it for the deliveries that it adds.
func (d *DB) Announce() { d.announcer.announce() }

// Listen returns a channel that gets a value after any process calls Announce or, on SQLite, commits, and when a lost
// connection is restored. A value may stand for several calls, and calls may be lost, so poll as well. Listening ends with the
// context.
func (d *DB) Listen(ctx context.Context) <-chan struct{} { return d.announcer.listen(ctx) }

// FollowEvents returns a channel that gets a value after this process commits events of the store, also without a webhook for
// them, until the context ends. Poll as well, for other processes.
func (d *DB) FollowEvents(ctx context.Context, store uuid.UUID) <-chan struct{} {
	return d.followers.add(ctx, store)
}

// SignalEvents sends a value to the channels of FollowEvents for the store.
func (d *DB) SignalEvents(store uuid.UUID) { d.followers.notify(store) }

func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// signals are channels with the store whose events they signal. Those of SQLite's watcher have the nil id.
type signals struct{ channels sync.Map } // from chan struct{} to uuid.UUID

// add removes the channel when the context ends.
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

// notifier sends notifications after the commit, on a connection of its own. A NOTIFY in the writing transaction would let only
// one writer of the whole database commit at a time.
type notifier struct {
	connect *connector
	url     string // the URL that listeners connect to
	ping    time.Duration
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

// run sends one notification for all calls of announce since the previous one.
func (n *notifier) run() {
	defer close(n.ended)
	db := sql.OpenDB(n.connect)
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	for range n.signal {
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// After a lost notification, listeners find the new work at their next poll.
		_, _ = db.ExecContext(ctx, "NOTIFY "+channel)
		cancel()
		time.Sleep(announceGap)
	}
}

// close waits for the last notification, so that a command that writes and exits notifies listeners.
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
		// A standby refuses LISTEN, so try again until the server accepts it.
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
				// The listener itself detects and replaces a broken connection.
				_ = listener.Ping()
			}
		}
	}()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	return signal
}
