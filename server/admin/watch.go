package admin

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
)

const (
	// MaxWatches is how many streams one server may have open.
	MaxWatches = 100
	// MaxStoreWatches is how many streams of one store's events one server may have open.
	MaxStoreWatches = 10
	// MaxWatch ends every stream, so that a client moves to a new server, and one that vanished no longer counts against
	// MaxWatches.
	MaxWatch = 10 * time.Minute
	// WatchBeat is how often a stream without events sends an answer.
	WatchBeat = 15 * time.Second

	// watchPoll is how often a stream looks for events of other processes. watchGap is the shortest time between two reads.
	watchPoll = 500 * time.Millisecond
	watchGap  = 100 * time.Millisecond
	// watchOverlap is how far an event's time may be from the database's clock at its commit. It allows for --request-timeout,
	// by default 10 seconds, and for servers that follow a leap of this clock late. Streams miss an event whose commit takes
	// longer; webhooks get it.
	watchOverlap = 30 * time.Second
	watchTimeout = 10 * time.Second
	// watchChunk is how many events one answer has.
	watchChunk = 20
)

type watches struct {
	mu       sync.Mutex
	total    int
	perStore map[uuid.UUID]int
}

// open fails with the code unavailable if too many streams are open. close counts a stream as ended.
func (w *watches) open(store uuid.UUID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.perStore[store] >= MaxStoreWatches:
		return apierr.New(apierr.Unavailable, fmt.Sprintf("The store has %d open streams of events, which is the limit; end one first.",
			MaxStoreWatches))
	case w.total >= MaxWatches:
		return apierr.New(apierr.Unavailable,
			fmt.Sprintf("The server has %d open streams of events, which is the limit; end one first.", MaxWatches))
	}
	if w.perStore == nil {
		w.perStore = map[uuid.UUID]int{}
	}
	w.total++
	w.perStore[store]++
	return nil
}

func (w *watches) close(store uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total--
	if w.perStore[store]--; w.perStore[store] == 0 {
		delete(w.perStore, store)
	}
}

// WatchEvents streams a store's events once they are committed, without a database connection between two reads. It returns nil
// when the context ends.
func (o *Operator) WatchEvents(ctx context.Context, in *adminv1.WatchEventsRequest,
	stream *connect.ServerStream[adminv1.WatchEventsResponse]) error {
	var refused problems
	for _, name := range in.GetTypes() {
		if name != hook.Ping && !slices.Contains(hook.EventTypes(), name) {
			refused.Invalid("types", fmt.Sprintf("must be ping or one of %s, not %q", strings.Join(hook.EventTypes(), ", "), name))
		}
	}
	var since *watchPosition
	if in.GetSince() != "" {
		var ok bool
		if since, ok = parsePosition(o.db, in.GetSince()); !ok {
			refused.Invalid("since", "must be the position of an answer")
		}
	}
	ctx, t, err := o.check(ctx, &refused, in.GetStore())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, MaxWatch)
	defer cancel()
	if err := o.watches.open(t.ID); err != nil {
		return err
	}
	defer o.watches.close(t.ID)
	w := &watch{db: o.db, store: t.ID, types: in.GetTypes(), send: stream.Send}
	if err := w.run(ctx, since); ctx.Err() == nil {
		return err
	}
	return nil
}

// watch is one stream.
//
//	event of this process, or watchPoll is over ──► poll: the ids that were committed after position ──► their events, sent
//	                                                 └► position = what the poll's statement saw
type watch struct {
	db       *db.DB
	store    uuid.UUID
	types    []string
	send     func(*adminv1.WatchEventsResponse) error
	position watchPosition // all events before it were sent
	times    []readTime    // of the reads in the last watchOverlap
}

// readTime is the database's time at a read, and this process's time with its monotonic reading, which no leap changes.
type readTime struct{ database, process time.Time }

// run sends events until the context ends. Without since, it begins with events that are committed from now on.
func (w *watch) run(ctx context.Context, since *watchPosition) error {
	signal := w.db.FollowEvents(ctx, w.store)
	if since != nil {
		w.position = *since
		w.times = []readTime{{since.earliest, time.Now()}}
	} else {
		_, next, err := w.poll(ctx)
		if err != nil {
			return err
		}
		w.position = next
	}
	if err := w.answer(nil, w.position); err != nil {
		return err
	}
	beat, poll := time.NewTicker(WatchBeat), time.NewTicker(watchPoll)
	defer beat.Stop()
	defer poll.Stop()
	for {
		ids, next, err := w.poll(ctx)
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			beat.Reset(WatchBeat)
		}
		if err := w.sendEvents(ctx, ids, next); err != nil {
			return err
		}
		w.position = next
		time.Sleep(watchGap)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beat.C:
			if err := w.answer(nil, w.position); err != nil {
				return err
			}
		case <-signal:
		case <-poll.C:
		}
	}
}

// poll reads the ids of the events after the stream's position, oldest first, and the position up to which it has read. A time
// only bounds what the statement reads: it is before the database's clock at each of the last reads, even if this clock was set
// back meanwhile.
func (w *watch) poll(ctx context.Context) (ids []uuid.UUID, next watchPosition, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	d := w.db.ForStore(ctx)
	args, err := db.ByDialect(d, w.postgresArgs, w.sqliteArgs)()
	if err != nil {
		return nil, next, fmt.Errorf("watch events: %w", err)
	}
	var now sql.NullTime
	for row := range db.Rows(ctx, d.Reader(), db.ByDialect(d, watchPostgres, watchSQLite), args...) {
		var found uuid.NullUUID
		if err := row.Scan(&next.mark, &now, &found); err != nil {
			return nil, next, fmt.Errorf("watch events: %w", err)
		}
		if found.Valid {
			ids = append(ids, found.UUID)
		}
	}
	at := now.Time
	if !now.Valid {
		at = d.Now()
	}
	w.times = append(w.times, readTime{at, time.Now()})
	for time.Since(w.times[0].process) > watchOverlap {
		w.times = w.times[1:]
	}
	next.earliest = w.earliest(at)
	return ids, next, nil
}

// earliest returns the earliest of a time and the times of the last reads.
func (w *watch) earliest(at time.Time) time.Time {
	for _, t := range w.times {
		if t.database.Before(at) {
			at = t.database
		}
	}
	return at
}

// sendEvents sends the events with these ids, except erased events and events of types that the client does not want. The last
// answer has the position next.
func (w *watch) sendEvents(ctx context.Context, ids []uuid.UUID, next watchPosition) error {
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), watchChunk)]
		query := w.db.ForStore(ctx).Client().Event.Query().Where(event.StoreID(w.store), event.IDIn(chunk...),
			event.PayloadNEQ([]byte(hook.Forgotten))).Order(event.ByCreatedAt(), event.ByID())
		if len(w.types) > 0 {
			query.Where(event.TypeIn(w.types...))
		}
		rows, err := withTimeout(ctx, query.All)
		if err != nil {
			return err
		}
		position := w.position
		if ids = ids[len(chunk):]; len(ids) == 0 {
			position = next
		}
		if len(rows) == 0 {
			continue // all these events are of other types than the client wants, or were erased
		}
		if err := w.answer(convertAll(rows, eventMessage), position); err != nil {
			return err
		}
	}
	return nil
}

func withTimeout[Found any](ctx context.Context, find func(context.Context) ([]Found, error)) ([]Found, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	found, err := find(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch events: %w", err)
	}
	return found, nil
}

func (w *watch) answer(events []*adminv1.Event, position watchPosition) error {
	return w.send(&adminv1.WatchEventsResponse{Events: events, Position: position.String()})
}
