package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/queue"
)

func (o outlet) lanesDue(q *queue.Queue) []queue.Lane {
	o.t.Helper()
	due, err := q.Due(o.ctx)
	require.NoError(o.t, err)
	return due
}

func (o outlet) allDue(q *queue.Queue) (lanes []queue.Lane) {
	o.t.Helper()
	due, err := q.AllDue(o.ctx)
	require.NoError(o.t, err)
	q.Found(due)
	for _, lane := range due {
		lanes = append(lanes, lane.Lane)
	}
	return lanes
}

func TestDueTellsWhatBecameDue(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		second, third := o.newWebhook(), o.newWebhook()
		start := d.Now()
		o.put(o.webhook, start.Add(-24*time.Hour), false)
		o.put(o.webhook, start.Add(-time.Hour), false)
		o.put(o.webhook, start.Add(3*time.Second), true)
		o.put(second, start.Add(-time.Minute), true)
		o.put(third, start.Add(4*time.Second), false)

		q := queue.New(d)
		require.ElementsMatch(t, []queue.Lane{o.lane(o.webhook, false), o.lane(second, true)}, o.allDue(q), "a lane once")
		require.Empty(t, o.lanesDue(q), "only what became due a moment ago")
		c.advance(3*time.Second - time.Millisecond)
		require.Empty(t, o.lanesDue(q))
		c.advance(time.Millisecond)
		require.Equal(t, []queue.Lane{o.lane(o.webhook, true)}, o.lanesDue(q), "a retry at its very time")
		c.advance(time.Second)
		require.ElementsMatch(t, []queue.Lane{o.lane(o.webhook, true), o.lane(third, false)}, o.lanesDue(q),
			"and a little of what was before")

		// As if its transaction had committed late.
		o.put(third, start, true)
		require.NotContains(t, o.lanesDue(q), o.lane(third, true))
		require.ElementsMatch(t, []queue.Lane{
			o.lane(o.webhook, false), o.lane(o.webhook, true), o.lane(second, true), o.lane(third, false), o.lane(third, true),
		}, o.allDue(q))

		c.advance(-time.Minute)
		o.put(second, d.Now(), false)
		require.Contains(t, o.lanesDue(q), o.lane(second, false), "although the clock was set back")
	})
}

// Its lease has ended because its worker has died, or its transaction has committed late.
func TestAClaimGoesBackToWhatWasFound(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		lane := o.lane(o.webhook, false)
		request := queue.ClaimRequest{Lane: lane, Max: 1}
		o.put(o.webhook, d.Now(), false)
		dying, living := queue.New(d), queue.New(d)
		abandoned := o.claim(dying, request)
		require.Len(t, abandoned, 1)
		require.Equal(t, []queue.Lane{lane}, o.allDue(living), "a lane that another worker works on, too")
		c.advance(lease)
		require.Len(t, o.claim(living, request), 1, "a worker begins with everything")
		for _, back := range []time.Duration{9 * time.Second, time.Minute} {
			late := o.put(o.webhook, d.Now().Add(-back), false)
			o.allDue(living)
			claimed := o.claim(living, request)
			require.Len(t, claimed, 1)
			require.Equal(t, late.ID, claimed[0].ID)
			require.Empty(t, o.claim(living, request))
		}
		hidden := o.put(o.webhook, d.Now().Add(-time.Minute), false)
		require.Empty(t, o.claim(living, request), "the search begins with what was found last")
		require.Equal(t, hidden.ID, o.claim(queue.New(d), request)[0].ID)
	})
}

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
		require.ElementsMatch(t, want, o.allDue(queue.New(d)))
		c.advance(-time.Hour)
		require.Empty(t, o.allDue(queue.New(d)))
	})
}
