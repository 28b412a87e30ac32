package queue_test

import (
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

func (o outlet) emitThere(kind string) uuid.UUID {
	o.t.Helper()
	event, node := id.At(o.Now()), o.ForStore(o.ctx)
	require.NotNil(o.t, node.Coordinator(), "the store is on another node")
	require.NoError(o.t, hook.Run(o.ctx, node, func(c *hook.Change) error {
		return emit(c, o.owner, event, kind)
	}))
	return event
}

func (o outlet) relay(q *queue.Queue) int {
	o.t.Helper()
	n, err := q.Relay(o.ctx)
	require.NoError(o.t, err)
	return n
}

// elsewhere has its store on another node than the coordinator.
func elsewhere(t *testing.T, d *db.DB) outlet {
	t.Helper()
	for {
		if o := newOutlet(t, d, "s"+uuid.NewString()); o.ForStore(o.ctx) != d {
			return o
		}
	}
}

// The recipients and the epoch are those of the event's commit.
func TestARelayDecidesNothing(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	c := newHandClock(0)
	d := dbtest.New(t, dbtest.Postgres, db.Config{Clock: c.now})
	o := elsewhere(t, d)
	unsubscribed, again := o.newWebhook(), o.newWebhook()
	event := o.emitThere(hook.OrderPaid)
	later := o.newWebhook()
	o.edit(unsubscribed, func(u *ent.WebhookUpdateOne) { u.SetEvents([]string{hook.OrderFailed}) })
	o.change(func(c *hook.Change) error { return queue.Cancel(c, o.owner, again) })

	q := queue.New(d)
	require.Equal(t, 3, o.relay(q))
	for webhook, want := range map[uuid.UUID]int{o.webhook: 1, unsubscribed: 1, again: 1, later: 0} {
		require.Equal(t, want, o.live(webhook)[event])
	}
	for webhook, want := range map[uuid.UUID]int{o.webhook: 1, unsubscribed: 1, again: 0} {
		require.Len(t, o.claim(q, queue.ClaimRequest{Lane: o.lane(webhook, false), Max: 2}), want)
	}
	require.NoError(t, q.DropRelayed(o.ctx))
	require.Zero(t, dbtest.Count(t, d, "outbox"))
}

// It dies between copying entries and deleting them, whatever became of the deliveries.
func TestARelayThatDiesHalfWayDoublesNothing(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	c := newHandClock(0)
	d := dbtest.New(t, dbtest.Postgres, db.Config{Clock: c.now})
	o := elsewhere(t, d)
	events := []uuid.UUID{o.emitThere(hook.OrderPaid), o.emitThere(hook.OrderPaid)}
	died, next := queue.New(d), queue.New(d)
	require.Equal(t, 2, o.relay(died))
	got := o.claim(died, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 1})
	o.finish(died, queue.Outcome{Delivery: got[0], Status: queue.Succeeded})
	require.Equal(t, 2, o.relay(next))
	require.NoError(t, next.DropRelayed(o.ctx))
	require.Zero(t, o.relay(next))
	require.Equal(t, map[uuid.UUID]int{events[1]: 1}, o.live(o.webhook))
	require.Len(t, dbtest.FinishedDeliveries(t, d, "true"), 1)
}

// The insert of a second relay waits for the end of a delivery, which it does not see.
func TestADeliveryThatEndsDuringARelayIsNotAddedAgain(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	o := elsewhere(t, d)
	o.emitThere(hook.OrderPaid)
	require.Equal(t, 1, o.relay(queue.New(d)))
	ending, err := d.Writer().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = ending.Exec(`WITH gone AS (DELETE FROM deliveries RETURNING *)
 INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT id, store_id, webhook_id, event_id, event_type, 'succeeded', attempts, created_at, now() FROM gone`)
	require.NoError(t, err)
	relayed := make(chan error, 1)
	go func() {
		_, err := queue.New(d).Relay(o.ctx)
		relayed <- err
	}()
	require.Eventually(t, func() bool {
		return dbtest.Count(t, d, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, ending.Commit())
	require.NoError(t, <-relayed)
	require.Zero(t, dbtest.Count(t, d, "deliveries"))
	require.Len(t, dbtest.FinishedDeliveries(t, d, "true"), 1)
}

func TestRelaysAndResendsAtOnceDoubleNothing(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	const events = 60
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	o := elsewhere(t, d)
	since := d.Now().Add(-time.Hour)
	for range events {
		o.emitThere(hook.OrderPaid)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			q := queue.New(d)
			for dbtest.Count(t, d, "outbox") > 0 {
				if _, err := q.Relay(o.ctx); err != nil {
					t.Error(err)
					return
				}
				if err := q.DropRelayed(o.ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		o.carryOut(o.order(since))
	}
	all.Wait()
	o.carryOut(o.order(since))
	live := o.live(o.webhook)
	require.Len(t, live, events)
	for event, n := range live {
		require.Equal(t, 1, n, event)
	}
}
