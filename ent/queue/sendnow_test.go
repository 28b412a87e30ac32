package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
)

// waiting returns a delivery whose first attempt has failed, and whose next is due in an hour.
func (o outlet) waiting(q *queue.Queue, webhook, event uuid.UUID) queue.Delivery {
	o.t.Helper()
	o.add(o.draft(webhook, event))
	d := o.leased(q, webhook)
	o.finish(q, queue.Outcome{Delivery: d, Attempt: answer(1, noon, 500), Status: queue.Pending, Delay: time.Hour})
	return d
}

func (o outlet) sendNow(id uuid.UUID) queue.Entry {
	o.t.Helper()
	entry, err := queue.FindEntry(o.ctx, o.DB, o.DB.Reader(), id)
	require.NoError(o.t, err)
	o.change(func(c *hook.Change) error { return queue.SendNow(c, entry) })
	entry, err = queue.FindEntry(o.ctx, o.DB, o.DB.Reader(), id)
	require.NoError(o.t, err)
	return entry
}

func TestSendNowMakesTheNextAttemptDue(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o, q := newOutlet(t, s, "atelier"), queue.New(s)
		d := o.waiting(q, o.webhook, o.event(hook.OrderPaid, noon))
		retries := []queue.ClaimRequest{{Lane: o.lane(o.webhook, true), Max: 5}}
		require.Empty(t, o.claim(q, retries...))
		kept, err := queue.ReadRetries(o.ctx, s, o.owner, o.webhook)
		require.NoError(t, err)
		require.Equal(t, 1, kept.Count)
		require.True(t, noon.Add(time.Hour).Equal(*kept.Next), kept.Next)

		c.advance(time.Minute)
		entry := o.sendNow(d.ID)
		require.Equal(t, d.ID, entry.ID)
		require.True(t, s.Now().Equal(*entry.NextAttemptAt))
		require.Len(t, entry.Attempts, 1, "no attempt was made by it")
		kept, err = queue.ReadRetries(o.ctx, s, o.owner, o.webhook)
		require.NoError(t, err)
		require.Equal(t, queue.Retries{}, kept)

		got := o.claim(q, retries...)
		require.Equal(t, []uuid.UUID{d.ID}, ids(got))
		require.Nil(t, o.sendNow(d.ID).NextAttemptAt, "an attempt that is being made is left alone")
		o.finish(q, queue.Outcome{Delivery: got[0], Attempt: answer(2, noon, 200), Status: queue.Succeeded})
		entry = o.sendNow(d.ID)
		require.Equal(t, queue.Succeeded, entry.Status)
		require.Len(t, entry.Attempts, 2, "it counted as one")
	})
}

func TestSendNowLeavesAloneWhatIsCancelled(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o, q := newOutlet(t, s, "atelier"), queue.New(s)
		d := o.waiting(q, o.webhook, o.event(hook.OrderPaid, noon))
		c.advance(time.Second)
		o.switchOff()
		require.Equal(t, queue.Cancelled, o.sendNow(d.ID).Status)
		o.switchOn()
		require.Equal(t, queue.Cancelled, o.sendNow(d.ID).Status)
		var due time.Time
		require.NoError(t, s.Reader().QueryRowContext(o.ctx, "SELECT due_at FROM deliveries WHERE id = $1", d.ID).Scan(&due))
		require.True(t, noon.Add(time.Hour).Equal(due), due)
	})
}

func TestSendWaitingTakesAllOfAWebhookBatchByBatch(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		for range queue.SendBatch + 3 {
			o.put(o.webhook, noon.Add(time.Hour), true)
		}
		o.put(o.webhook, noon, true)
		other := o.put(o.newWebhook(), noon.Add(time.Hour), true)
		for _, want := range []int{queue.SendBatch, 3, 0} {
			var n int
			o.change(func(c *hook.Change) (err error) {
				n, err = queue.SendWaiting(c, o.owner, o.webhook)
				return err
			})
			require.Equal(t, want, n)
		}
		entry, err := queue.FindEntry(o.ctx, d, d.Reader(), other.ID)
		require.NoError(t, err)
		require.True(t, noon.Add(time.Hour).Equal(*entry.NextAttemptAt))
	})
}

func TestAResendTakesWhatWaits(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o, q := newOutlet(t, d, "atelier"), queue.New(d)
		before := o.waiting(q, o.webhook, o.event(hook.OrderPaid, noon.Add(-time.Hour)))
		after := o.waiting(q, o.webhook, o.event(hook.OrderPaid, noon))
		c.advance(time.Minute)
		r := o.carryOut(o.order(noon))
		require.Equal(t, 1, r.Resent)
		require.Equal(t, []uuid.UUID{after.ID}, ids(o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, true), Max: 5})))
		require.Zero(t, o.carryOut(o.order(noon)).Resent, "while its attempt is made it is left alone")
		entry, err := queue.FindEntry(o.ctx, d, d.Reader(), before.ID)
		require.NoError(t, err)
		require.True(t, noon.Add(time.Hour).Equal(*entry.NextAttemptAt))
	})
}
