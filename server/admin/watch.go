package admin

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/predicate"
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
	// watchOverlap is how far each read looks back, because an event gets its time before its commit. It allows for
	// --request-timeout, by default 10 seconds, and for servers whose clocks differ. Streams miss an event whose commit takes
	// longer; webhooks get it.
	watchOverlap = 30 * time.Second
	watchTimeout = 10 * time.Second
	// watchPage is how many ids one statement reads. watchChunk is how many events one answer has.
	watchPage  = 1000
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
	if in.GetSince() != nil && in.GetSince().CheckValid() != nil {
		refused.Invalid("since", "must be the position of an answer")
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
	w := &watch{db: o.db, store: t.ID, types: in.GetTypes(), seen: map[uuid.UUID]bool{}, send: stream.Send}
	if in.GetSince() != nil {
		w.from = in.GetSince().AsTime().Truncate(time.Millisecond)
	}
	if err := w.run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// watch is one stream.
//
//	event of this process, or watchPoll is over ──► poll: the ids since next, less those seen ──► their events, sent
//	                                                 └► next = now − watchOverlap
type watch struct {
	db    *db.DB
	store uuid.UUID
	types []string
	send  func(*adminv1.WatchEventsResponse) error
	// from is the time from which the client wants events, by default the stream's beginning. No answer's position is earlier.
	from time.Time
	// floor is the earliest time that the stream reads: the client's, or watchOverlap before the stream's beginning, because an
	// event of that time may be uncommitted.
	floor time.Time
	next  time.Time
	// seen has the sent events from next on, which the next read finds again.
	seen map[uuid.UUID]bool
}

func (w *watch) run(ctx context.Context) error {
	signal := w.db.FollowEvents(ctx, w.store)
	w.floor, w.next = w.from, w.from
	if w.from.IsZero() {
		w.from = w.db.Now()
		w.floor = w.from.Add(-watchOverlap)
		w.next = w.floor
		// Without a time of the client, the first read marks events from before the beginning as seen, and sends none.
		if err := w.poll(ctx, func([]uuid.UUID, time.Time) error { return nil }); err != nil {
			return err
		}
	}
	if err := w.answer(nil, w.from); err != nil {
		return err
	}
	beat, poll := time.NewTicker(WatchBeat), time.NewTicker(watchPoll)
	defer beat.Stop()
	defer poll.Stop()
	for {
		err := w.poll(ctx, func(ids []uuid.UUID, now time.Time) error {
			beat.Reset(WatchBeat)
			return w.sendEvents(ctx, ids, now)
		})
		if err != nil {
			return err
		}
		time.Sleep(watchGap)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beat.C:
			if err := w.answer(nil, w.next); err != nil {
				return err
			}
		case <-signal:
		case <-poll.C:
		}
	}
}

// poll passes the ids of events from w.next on, without those in w.seen, to send, oldest first, with the time of the read. Then
// it updates both.
func (w *watch) poll(ctx context.Context, send func([]uuid.UUID, time.Time) error) error {
	now := w.db.Now()
	next := latest(now.Add(-watchOverlap), w.floor)
	oldest := id.Floor(next) // is below the ids of all events from the time next on
	isOld := func(id uuid.UUID) bool { return bytes.Compare(id[:], oldest[:]) < 0 }
	// An id begins with its event's time, so the conditions on created_at and on the id agree.
	after, more := id.Floor(w.next), true
	for more {
		ids, err := withTimeout(ctx, w.query(ctx, event.CreatedAtGTE(id.Time(after)), event.IDGT(after)).Limit(watchPage).IDs)
		if err != nil {
			return err
		}
		if more = len(ids) == watchPage; more {
			after = ids[len(ids)-1]
		}
		fresh := slices.DeleteFunc(ids, func(id uuid.UUID) bool { return w.seen[id] })
		for _, id := range fresh {
			if !isOld(id) { // older events need no entry, because the next read begins after them
				w.seen[id] = true
			}
		}
		if len(fresh) == 0 {
			continue
		}
		if err := send(fresh, now); err != nil {
			return err
		}
	}
	w.next = next
	maps.DeleteFunc(w.seen, func(id uuid.UUID, _ bool) bool { return isOld(id) })
	return nil
}

func (w *watch) query(ctx context.Context, conditions ...predicate.Event) *ent.EventQuery {
	return w.db.ForStore(ctx).Client().Event.Query().Where(append(conditions, event.StoreID(w.store))...).Order(event.ByCreatedAt(),
		event.ByID())
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

// sendEvents leaves out erased events and types that the client does not want. now is when the ids were read.
func (w *watch) sendEvents(ctx context.Context, ids []uuid.UUID, now time.Time) error {
	for chunk := range slices.Chunk(ids, watchChunk) {
		query := w.query(ctx, event.IDIn(chunk...), event.PayloadNEQ([]byte(hook.Forgotten)))
		if len(w.types) > 0 {
			query.Where(event.TypeIn(w.types...))
		}
		rows, err := withTimeout(ctx, query.All)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue // all these events are of other types than the client wants, or were erased
		}
		last := id.Time(chunk[len(chunk)-1])
		if last.After(now) {
			last = now // the clock of the server that stored the event is ahead; the position must not be in the future
		}
		if err := w.answer(convertAll(rows, eventMessage), last.Add(-watchOverlap)); err != nil {
			return err
		}
	}
	return nil
}

// answer sends events and a position up to which all are sent.
func (w *watch) answer(events []*adminv1.Event, position time.Time) error {
	return w.send(&adminv1.WatchEventsResponse{Events: events, Position: apijson.Timestamp(latest(position, w.from))})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
