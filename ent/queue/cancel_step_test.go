package queue_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
)

const batch = 400

func (o outlet) switchOff() {
	o.t.Helper()
	o.change(func(c *hook.Change) error {
		if err := c.MarkLocked(c.Tx.Webhook.GetX(c, o.webhook)); err != nil {
			return err
		}
		if err := c.Tx.Webhook.UpdateOneID(o.webhook).SetEnabled(false).SetDisabledAt(o.Now()).Exec(c); err != nil {
			return err
		}
		return queue.Cancel(c, o.owner, o.webhook)
	})
}

func (o outlet) switchOn() {
	o.t.Helper()
	o.edit(o.webhook, func(u *ent.WebhookUpdateOne) { u.SetEnabled(true).ClearDisabledAt() })
}

// fill adds n waiting deliveries. Every third is a retry that is due in an hour.
func (o outlet) fill(n int) []fanout.Delivery {
	o.t.Helper()
	drafts := make([]fanout.Delivery, n)
	for i := range drafts {
		drafts[i] = o.draft(o.webhook, id.At(o.Now()))
	}
	for at := 0; at < n; at += 500 {
		o.add(drafts[at:min(at+500, n)]...)
	}
	for i := 2; i < n; i += 3 {
		o.exec("UPDATE deliveries SET retry = true, due_at = $1 WHERE id = $2",
			o.Now().Add(time.Hour+time.Duration(i%7)*time.Millisecond), drafts[i].ID)
	}
	return drafts
}

func (o outlet) statuses(search queue.Search) map[string]int {
	o.t.Helper()
	search.StoreID, search.Limit = o.owner, 10000
	found, err := queue.Entries(o.ctx, o.DB, search)
	require.NoError(o.t, err)
	counts := map[string]int{}
	for _, e := range found {
		counts[e.Status]++
		require.True(o.t, e.Status == queue.Pending || e.NextAttemptAt == nil)
	}
	return counts
}

func TestCancelTakesEffectAtOnceAndIsWrittenDownInBatches(t *testing.T) {
	t.Parallel()
	const n = 2*batch + 150
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		drafts := o.fill(n)
		spared := o.newWebhook()
		o.put(spared, s.Now(), false)
		c.advance(time.Second)
		at := s.Now()
		o.switchOff()

		shown := func(reason string) {
			require.Equal(t, map[string]int{queue.Cancelled: n, queue.Pending: 1}, o.statuses(queue.Search{}), reason)
			require.Equal(t, map[string]int{queue.Cancelled: n}, o.statuses(queue.Search{Status: queue.Cancelled, WebhookID: o.webhook}),
				reason)
			require.Equal(t, map[string]int{queue.Pending: 1}, o.statuses(queue.Search{Status: queue.Pending}), reason)
			for _, d := range drafts[:3] {
				found, err := queue.FindEntry(o.ctx, s, s.Reader(), d.ID)
				require.NoError(t, err)
				require.Equal(t, queue.Cancelled, found.Status, reason)
				require.Nil(t, found.NextAttemptAt, reason)
			}
		}
		shown("before any worker has looked")
		q, other := queue.New(s), queue.New(s)
		for _, retry := range []bool{false, true} {
			require.Empty(t, o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, retry), Max: 10}), "none of them is attempted")
		}
		found, err := q.FindCancelled(o.ctx)
		require.NoError(t, err)
		require.Equal(t, []queue.CancelledDeliveries{{StoreID: o.owner, WebhookID: o.webhook, Epoch: 1}}, found)
		for moved := 0; moved < n; {
			step, more, err := q.MoveCancelled(o.ctx, found[0])
			require.NoError(t, err)
			require.Equal(t, min(batch, n-moved), step, "no transaction touches more than a batch")
			require.Equal(t, step == batch, more)
			moved += step
			require.Equal(t, n-moved, dbtest.Count(t, s, "deliveries WHERE webhook_id = $1", o.webhook))
			shown("half-way, in turn with another worker")
			// Between two batches, workers can claim other deliveries.
			require.Len(t, o.claim(q, queue.ClaimRequest{Lane: o.lane(spared, false), Max: 1}), 1)
			o.exec("UPDATE deliveries SET lease = NULL, leased_until = NULL, due_at = $1 WHERE webhook_id = $2", s.Now(), spared)
			q, other = other, q
		}
		require.Zero(t, o.cancelAll(q))
		shown("afterwards")
		require.Equal(t, n, dbtest.Count(t, s, "finished_deliveries WHERE finished_at = $1", at))
	})
}

func TestAWebhookThatIsEnabledAgainDuringItsCancellation(t *testing.T) {
	t.Parallel()
	const n = batch + 50
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		o.fill(n)
		c.advance(time.Second)
		o.switchOff()
		q := queue.New(d)
		found, err := q.FindCancelled(o.ctx)
		require.NoError(t, err)
		_, _, err = q.MoveCancelled(o.ctx, found[0])
		require.NoError(t, err)
		o.switchOn()
		fresh := o.put(o.webhook, d.Now(), false)
		got := o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 10})
		require.Equal(t, []uuid.UUID{fresh.ID}, ids(got), "what is fresh does not wait for what is cancelled")
		require.Equal(t, map[string]int{queue.Cancelled: n, queue.Pending: 1}, o.statuses(queue.Search{}))

		// The delivery that was added while the webhook was enabled is cancelled now.
		again := o.put(o.webhook, d.Now(), false)
		o.switchOff()
		entry, err := queue.FindEntry(o.ctx, d, d.Reader(), again.ID)
		require.NoError(t, err)
		require.Equal(t, queue.Cancelled, entry.Status)
		require.Equal(t, map[string]int{queue.Cancelled: n + 1, queue.Pending: 1}, o.statuses(queue.Search{}),
			"an attempt is being made")
		o.finish(q, queue.Outcome{Delivery: got[0], Attempt: answer(1, d.Now(), 500), Status: queue.Pending, Delay: time.Hour,
			CountsAsFailure: true})
		require.Equal(t, map[string]int{queue.Cancelled: n + 2}, o.statuses(queue.Search{}), "it failed, and is not shown as waiting")
		require.Equal(t, 52, o.cancelAll(q))
		require.Zero(t, dbtest.Count(t, d, "deliveries"))
		require.Equal(t, n+2, dbtest.Count(t, d, "finished_deliveries WHERE status = 'cancelled'"))
	})
}

// A transaction may read a webhook before it is disabled, and add its deliveries afterwards. They are cancelled even if the
// webhook has been enabled again or deleted since.
func TestALateDeliveryOfAnEarlierEpochIsCancelled(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		become func(o outlet)
	}{
		{"the webhook is disabled", func(outlet) {}},
		{"the webhook was enabled again", outlet.switchOn},
		{"the webhook is deleted", func(o outlet) { o.exec("DELETE FROM webhooks WHERE id = $1", o.webhook) }},
	}
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		for i, row := range rows {
			o := newOutlet(t, d, "atelier-"+strconv.Itoa(i))
			q := queue.New(d)
			o.switchOff()
			require.Zero(t, o.cancelAll(q), row.reason)
			row.become(o)
			late := o.draft(o.webhook, id.At(d.Now()))
			late.Epoch = 1
			o.add(late)
			require.Empty(t, o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 1}), row.reason)
			entry, err := queue.FindEntry(o.ctx, d, d.Reader(), late.ID)
			require.NoError(t, err)
			require.Equal(t, queue.Cancelled, entry.Status, row.reason)
			require.Equal(t, 1, o.cancelAll(q), row.reason)
			require.Zero(t, o.cancelAll(q), row.reason)
		}
	})
}

// If the worker dies during an attempt, the delivery is cancelled when its lease ends.
func TestALeaseThatEndsAfterDisabling(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		q := queue.New(d)
		o.leased(q, o.webhook)
		o.switchOff()
		require.Equal(t, map[string]int{queue.Pending: 1}, o.statuses(queue.Search{}))
		c.advance(lease - time.Millisecond)
		require.Zero(t, o.cancelAll(q), "its attempt is being made")
		c.advance(time.Millisecond)
		require.Equal(t, map[string]int{queue.Cancelled: 1}, o.statuses(queue.Search{}), "at once")
		c.advance(time.Second)
		require.Equal(t, 1, o.cancelAll(q))
	})
}

func TestWorkersThatCancelAtOnceShareNoRow(t *testing.T) {
	t.Parallel()
	const n = 3*batch + 20
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := newOutlet(t, d, "atelier")
		o.fill(n)
		o.switchOff()
		var (
			all   sync.WaitGroup
			mu    sync.Mutex
			moved int
		)
		for range 3 {
			all.Go(func() {
				n := o.cancelAll(queue.New(d))
				mu.Lock()
				moved += n
				mu.Unlock()
			})
		}
		all.Wait()
		require.Equal(t, n, moved)
		require.Equal(t, n, dbtest.Count(t, d, "finished_deliveries"))
		require.Zero(t, dbtest.Count(t, d, "deliveries"))
	})
}
