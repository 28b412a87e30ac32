package queue_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
)

const lease = 12 * time.Second

func everyLane(queue.Lane) bool { return true }

func noLane(queue.Lane) bool { return false }

// subscribe creates a webhook of the outlet's store that subscribes to these event types, and returns its id.
func (o outlet) subscribe(types ...string) uuid.UUID {
	o.t.Helper()
	made := o.newWebhook()
	o.edit(made, func(u *ent.WebhookUpdateOne) { u.SetEvents(types) })
	return made
}

func (o outlet) edit(webhook uuid.UUID, change func(*ent.WebhookUpdateOne)) {
	o.t.Helper()
	o.change(func(ctx context.Context, tx *ent.Tx) error {
		row, err := tx.Webhook.Get(ctx, webhook)
		if err != nil {
			return err
		}
		if err := hook.MarkLocked(ctx, row); err != nil {
			return err
		}
		u := row.Update()
		change(u)
		return u.Exec(ctx)
	})
}

func (o outlet) exec(statement string, args ...any) {
	o.t.Helper()
	_, err := o.Writer().Exec(statement, args...)
	require.NoError(o.t, err)
}

// emit writes an event of this type with its entry in the outbox, and returns the event's id.
func (o outlet) emit(kind string) uuid.UUID {
	o.t.Helper()
	event := o.event(kind, o.Now())
	o.exec(intoOutbox, event, o.owner, kind)
	return event
}

const intoOutbox = "INSERT INTO outbox (id, store_id, type) VALUES ($1, $2, $3)"

// relay calls Relay and then DropRelayed; the test fails if one of them fails.
func (o outlet) relay(q *queue.Queue, limit int, room func(queue.Lane) bool) queue.Relayed {
	o.t.Helper()
	relayed, err := q.Relay(o.ctx, limit, lease, room)
	require.NoError(o.t, err)
	require.NoError(o.t, q.DropRelayed(o.ctx))
	return relayed
}

func TestRelayFansOutToThoseWhoSubscribe(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		paidOnly := o.subscribe(hook.OrderPaid)
		o.subscribe(hook.ProductPublished)
		disabled := o.newWebhook()
		o.edit(disabled, func(u *ent.WebhookUpdateOne) { u.SetEnabled(false) })
		other := newOutlet(t, s, "other")
		paid, failed := o.emit(hook.OrderPaid), o.emit(hook.OrderFailed)
		o.exec("UPDATE events SET payload = $1 WHERE id = $2", []byte(`{"a": 1 }`), paid)
		o.emit(hook.CustomerCreated)

		q := queue.New(s)
		at := s.Now()
		relayed := o.relay(q, 100, func(l queue.Lane) bool { return l.WebhookID == o.webhook })
		require.Equal(t, 3, relayed.Entries, "one to whose type nobody subscribes is taken, too")
		require.Zero(t, dbtest.Count(t, s, "outbox"))
		require.Equal(t, map[uuid.UUID]int{paid: 1, failed: 1}, o.live(o.webhook))
		require.Equal(t, map[uuid.UUID]int{paid: 1}, o.live(paidOnly))
		require.Equal(t, 3, dbtest.Count(t, s, "deliveries"), "none for other types, disabled ones, other stores")
		require.Empty(t, other.live(other.webhook))

		require.Equal(t, []queue.Lane{{StoreID: o.owner, WebhookID: paidOnly}}, relayed.Waiting)
		require.Len(t, relayed.Leased, 2)
		require.Equal(t, []uuid.UUID{paid, failed}, []uuid.UUID{relayed.Leased[0].EventID, relayed.Leased[1].EventID}, "oldest first")
		for _, d := range relayed.Leased {
			row := o.row(d.ID)
			require.Equal(t, d.Lease, *row.Lease)
			require.True(t, at.Add(lease).Equal(row.DueAt), "%s", row.DueAt)
			require.True(t, at.Equal(row.CreatedAt))
			require.Equal(t, "[]", string(row.Attempts))
			require.Equal(t, queue.Delivery{
				Lane: queue.Lane{StoreID: o.owner, WebhookID: o.webhook}, ID: row.ID, Lease: d.Lease, EventID: row.EventID,
				EventType: row.EventType, Attempts: []byte("[]"), CreatedAt: at, Epoch: 1,
				URL: "https://receiver.example", Secret: []byte("sealed"), SecretKey: "key", Payload: d.Payload,
			}, d)
		}
		require.Equal(t, `{"a": 1 }`, string(relayed.Leased[0].Payload), "in its exact bytes")

		c.advance(time.Minute)
		require.Equal(t, queue.Relayed{}, o.relay(q, 100, everyLane), "there is nothing left")
	})
}

// A batch of long events does not fill the memory: all deliveries of an event share one copy of its payload.
func TestAnEventIsHeldOnce(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		for range 4 {
			o.newWebhook()
		}
		first, second := o.emit(hook.OrderPaid), o.emit(hook.OrderPaid)
		held := map[uuid.UUID]map[*byte]bool{first: {}, second: {}}
		leased := o.relay(queue.New(s), 10, everyLane).Leased
		require.Len(t, leased, 10)
		for _, d := range leased {
			held[d.EventID][&d.Payload[0]] = true
		}
		require.Len(t, held[first], 1)
		require.Len(t, held[second], 1)
	})
}

func TestRelayLeasesWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		for range 5 {
			o.emit(hook.OrderPaid)
		}
		q, asked := queue.New(d), 0
		relayed := o.relay(q, 4, func(queue.Lane) bool { asked++; return asked <= 2 })
		require.Equal(t, 4, relayed.Entries, "the limit")
		require.Equal(t, 4, asked)
		require.Len(t, relayed.Leased, 2)
		require.Equal(t, []queue.Lane{{StoreID: o.owner, WebhookID: o.webhook}}, relayed.Waiting, "a lane once")
		waiting := 0
		for _, row := range dbtest.Deliveries(t, d, "true") {
			if row.Lease == nil {
				waiting++
				require.True(t, d.Now().Equal(row.DueAt), "whoever has room takes it now")
			}
		}
		require.Equal(t, 2, waiting)
		require.Equal(t, 1, o.relay(q, 4, noLane).Entries)
	})
}

func TestAnEntryWithoutItsEventIsDropped(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := newOutlet(t, d, "atelier")
		o.exec(intoOutbox, id.At(d.Now()), o.owner, hook.OrderPaid)
		relayed := o.relay(queue.New(d), 10, everyLane)
		require.Equal(t, queue.Relayed{Entries: 1}, relayed)
		require.Zero(t, dbtest.Count(t, d, "deliveries"))
	})
}

// Relay finds entries whose transaction commits late, after transactions that took higher ids have committed.
func TestEntriesThatCommitLateAreFound(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		open   time.Duration // time from taking the ids to the commit
		wait   time.Duration // time from the commit until the entries must be found
	}{
		{"transactions overlap by moments all the time", 40 * time.Millisecond, 0},
		{"one that took seconds is found a second later", 1500 * time.Millisecond, time.Second},
		{"one that is later still is found by the search from the beginning", 8 * time.Second, 10 * time.Second},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			c := newHandClock(0)
			d := dbtest.New(t, dbtest.Postgres, db.Config{Clock: c.now})
			o := newOutlet(t, d, "atelier")
			late := make([]uuid.UUID, 5)
			for i := range late {
				late[i] = o.event(hook.OrderPaid, d.Now())
			}
			tx, err := d.Writer().Begin()
			require.NoError(t, err)
			defer func() { _ = tx.Rollback() }()
			for _, event := range late {
				_, err = tx.Exec(intoOutbox, event, o.owner, hook.OrderPaid)
				require.NoError(t, err)
			}
			q := queue.New(d)
			const steps = 4
			for range steps {
				o.emit(hook.OrderPaid)
				require.Equal(t, 1, o.relay(q, 2, noLane).Entries)
				c.advance(row.open / steps)
			}
			require.NoError(t, tx.Commit())
			c.advance(row.wait + time.Millisecond)
			entries := 0
			for range 3 {
				entries += o.relay(q, 2, noLane).Entries
			}
			require.Equal(t, len(late), entries, "all of them, though they are more than a batch")
		})
	}
}

func TestRelaysAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	const events, relays = 300, 4
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := newOutlet(t, d, "atelier")
		second := o.newWebhook()
		o.events(events, d.Now())
		o.exec("INSERT INTO outbox (id, store_id, type) SELECT id, store_id, type FROM events ORDER BY id")
		var (
			all  sync.WaitGroup
			mu   sync.Mutex
			seen []queue.Delivery
		)
		for range relays {
			all.Go(func() {
				q := queue.New(d)
				for left := 1; left > 0; {
					relayed, err := q.Relay(o.ctx, 7, lease, everyLane)
					if err == nil {
						err = q.DropRelayed(o.ctx)
					}
					if err == nil {
						err = d.Reader().QueryRow("SELECT count(*) FROM outbox").Scan(&left)
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					seen = append(seen, relayed.Leased...)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Len(t, seen, 2*events)
		for _, webhook := range []uuid.UUID{o.webhook, second} {
			live := o.live(webhook)
			require.Len(t, live, events)
			for event, n := range live {
				require.Equal(t, 1, n, event)
			}
		}
		slices.SortFunc(seen, func(a, b queue.Delivery) int { return slices.Compare(a.ID[:], b.ID[:]) })
		require.Len(t, slices.CompactFunc(seen, func(a, b queue.Delivery) bool { return a.ID == b.ID }), 2*events)
	})
}

// Relay skips entries that another worker is relaying, and takes them when that worker's transaction dies.
func TestRelayPassesWhatAnotherHolds(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "relays take turns there")
	c := newHandClock(0)
	d := dbtest.New(t, dbtest.Postgres, db.Config{Clock: c.now})
	o := newOutlet(t, d, "atelier")
	held := o.emit(hook.OrderPaid)
	free := o.emit(hook.OrderPaid)
	tx, err := d.Writer().BeginTx(o.ctx, &sql.TxOptions{})
	require.NoError(t, err)
	_, err = tx.Exec("DELETE FROM outbox WHERE id = $1", held)
	require.NoError(t, err)
	q := queue.New(d)
	require.Equal(t, 1, o.relay(q, 10, noLane).Entries)
	require.Equal(t, map[uuid.UUID]int{free: 1}, o.live(o.webhook))
	require.NoError(t, tx.Rollback())
	c.advance(10*time.Second + time.Millisecond)
	require.Equal(t, 1, o.relay(q, 10, noLane).Entries)
	require.Equal(t, map[uuid.UUID]int{free: 1, held: 1}, o.live(o.webhook))
}

// On a cluster, a relay may die after it has committed deliveries and before it has deleted their outbox entries. The next
// relay takes the entries again, and adds no second delivery of an event, whatever the first delivery's status is.
func TestARelayThatDiesHalfWayDoublesNothing(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		events := []uuid.UUID{o.emit(hook.OrderPaid), o.emit(hook.OrderPaid), o.emit(hook.OrderPaid)}
		died := queue.New(d)
		relayed, err := died.Relay(o.ctx, 10, lease, everyLane)
		require.NoError(t, err)
		require.Len(t, relayed.Leased, 3)
		left := dbtest.Count(t, d, "outbox")
		_, err = died.Finish(o.ctx, []queue.Outcome{{Delivery: relayed.Leased[0], Status: queue.Succeeded}})
		require.NoError(t, err)

		c.advance(2 * time.Second)
		next := queue.New(d)
		again := o.relay(next, 10, everyLane)
		require.Equal(t, left, again.Entries)
		require.Empty(t, again.Leased)
		require.Len(t, again.Unused, left)
		require.Zero(t, dbtest.Count(t, d, "outbox"))
		require.Equal(t, map[uuid.UUID]int{events[1]: 1, events[2]: 1}, o.live(o.webhook))
		require.Len(t, dbtest.FinishedDeliveries(t, d, "true"), 1)
	})
}
