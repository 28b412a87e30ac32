package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/queue"
)

// lanesDue returns the lanes that q.Due reports, and whether these are all lanes with due deliveries.
func (o outlet) lanesDue(q *queue.Queue) ([]queue.Lane, bool) {
	o.t.Helper()
	due, all, err := q.Due(o.ctx)
	require.NoError(o.t, err)
	return due, all
}

func TestDueTellsWhatBecameDue(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		second, third := o.newWebhook(), o.newWebhook()
		start := d.Now()
		o.put(o.webhook, start.Add(-24*time.Hour), false)
		o.put(o.webhook, start.Add(-time.Hour), false)
		o.put(o.webhook, start.Add(time.Second), true)
		o.put(second, start.Add(-time.Minute), true)
		o.put(third, start.Add(1500*time.Millisecond), false)

		q := queue.New(d)
		lanes, all := o.lanesDue(q)
		require.True(t, all, "at first everything")
		require.ElementsMatch(t, []queue.Lane{o.lane(o.webhook, false), o.lane(second, true)}, lanes, "a lane once")

		c.advance(500 * time.Millisecond)
		lanes, all = o.lanesDue(q)
		require.False(t, all)
		require.Empty(t, lanes, "what was told is not told again")

		c.advance(500 * time.Millisecond)
		lanes, _ = o.lanesDue(q)
		require.Equal(t, []queue.Lane{o.lane(o.webhook, true)}, lanes, "a retry at its very time")

		c.advance(500 * time.Millisecond)
		lanes, _ = o.lanesDue(q)
		require.ElementsMatch(t, []queue.Lane{o.lane(o.webhook, true), o.lane(third, false)}, lanes, "and a little of what was before")

		// Add a delivery that is due at a time before the last call of Due, as if its transaction had committed late. Due finds the
		// delivery when it next reads all lanes.
		o.put(third, start.Add(-time.Minute), true)
		lanes, all = o.lanesDue(q)
		require.False(t, all)
		require.NotContains(t, lanes, o.lane(third, true))
		c.advance(500 * time.Millisecond)
		lanes, all = o.lanesDue(q)
		require.True(t, all, "2 s after the first")
		require.ElementsMatch(t, []queue.Lane{
			o.lane(o.webhook, false), o.lane(o.webhook, true), o.lane(second, true), o.lane(third, false), o.lane(third, true),
		}, lanes)
	})
}

// A delivery whose lease has ended, because its worker has died, is found when Due next reads all lanes.
func TestDueTellsOfLeasesThatEnded(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		lane := o.lane(o.webhook, false)
		o.put(o.webhook, d.Now(), false)
		dying, living := queue.New(d), queue.New(d)
		require.Len(t, o.claim(dying, queue.ClaimRequest{Lane: lane, Max: 1}), 1)
		o.lanesDue(living)
		lanes, all := o.lanesDue(living)
		require.False(t, all)
		require.Empty(t, lanes, "a worker has it")
		c.advance(lease)
		lanes, all = o.lanesDue(living)
		require.True(t, all)
		require.Equal(t, []queue.Lane{lane}, lanes)
		require.Len(t, o.claim(living, queue.ClaimRequest{Lane: lane, Max: 1}), 1)
	})
}

// With many rows in few lanes of several stores, Due returns each lane once.
func TestDueLeapsFromLaneToLane(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		var want []queue.Lane
		var o outlet
		for _, slug := range []string{"atelier", "bazar", "comptoir"} {
			o = newOutlet(t, d, slug)
			for _, webhook := range []queue.Lane{o.lane(o.webhook, false), o.lane(o.newWebhook(), true)} {
				drafts := make([]fanout.Delivery, 50)
				for i := range drafts {
					drafts[i] = o.draft(webhook.WebhookID, webhook.WebhookID)
				}
				o.add(drafts...)
				o.exec("UPDATE deliveries SET retry = $1 WHERE webhook_id = $2", webhook.Retry, webhook.WebhookID)
				want = append(want, webhook)
			}
		}
		lanes, all := o.lanesDue(queue.New(d))
		require.True(t, all)
		require.ElementsMatch(t, want, lanes)
		q := queue.New(d)
		c.advance(-time.Hour)
		lanes, _ = o.lanesDue(q)
		require.Empty(t, lanes)
		// Due reads all lanes again after the clock jumps, first an hour forward and then a minute back.
		c.advance(time.Hour)
		lanes, all = o.lanesDue(q)
		require.True(t, all)
		require.ElementsMatch(t, want, lanes)
		c.advance(-time.Minute)
		_, all = o.lanesDue(q)
		require.True(t, all)
	})
}
