package queue_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/queue"
)

// The order is joined, and does what was ordered: whatever ended without success after the resend had
// passed it is taken, too, and nothing twice.
func TestResendSaidAgainTakesWhatItHasPassed(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		// meanwhile ends what the first step made.
		meanwhile func(o outlet)
		joined    bool
		resent    int
	}{
		{"nothing has ended", func(outlet) {}, true, 1100},
		{"they have failed", func(o outlet) {
			for _, d := range dbtest.Deliveries(o.t, o.DB, "true") {
				o.ended(o.draft(o.webhook, d.EventID), queue.Failed)
				o.exec("DELETE FROM deliveries WHERE id = $1", d.ID)
			}
		}, true, 1600},
		{"they are cancelled", func(o outlet) {
			o.switchOff()
			o.switchOn()
		}, false, 1100},
		{"they are cancelled and moved to the journal", func(o outlet) {
			o.switchOff()
			o.cancelAll(queue.On(o.DB))
			o.switchOn()
		}, false, 1100},
	}
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		for i, row := range rows {
			o := newOutlet(t, s, "atelier-"+strconv.Itoa(i))
			since := s.Now().Add(-time.Hour)
			o.events(1100, since)
			first := o.order(since)
			require.Equal(t, 500, o.step(first.ID, first.Hold).Resent, row.reason)
			row.meanwhile(o)
			again := o.order(since)
			require.Equal(t, row.joined, again.ID == first.ID, row.reason)
			steps := 0
			for ; !again.Finished; steps++ {
				again = o.step(again.ID, again.Hold)
				if steps == 1 && row.joined {
					o.order(since.Add(100 * time.Millisecond)) // it does not begin again for this
					again.Hold = time.Time{}
					c.advance(time.Hour)
				}
			}
			require.LessOrEqual(t, steps, 7, row.reason)
			require.Equal(t, row.resent, again.Resent, row.reason)
			require.False(t, again.Stopped, row.reason)
			require.Equal(t, map[string]int{queue.Pending: 1100}, withoutEnded(o.statuses(queue.Search{})), row.reason)
			if !row.joined {
				was := o.step(first.ID, time.Time{})
				require.True(t, was.Finished && was.Stopped, "%s: the first one ended with its webhook", row.reason)
			}
			o.exec("DELETE FROM deliveries WHERE store_id = $1", o.owner)
		}
	})
}

// withoutEnded leaves what is pending.
func withoutEnded(counts map[string]int) map[string]int {
	return map[string]int{queue.Pending: counts[queue.Pending]}
}

// Disabling a webhook ends its resends, though nobody goes on with them.
func TestAResendThatNobodyContinuesEndsWithItsWebhook(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		since := noon.Add(-time.Hour)
		o.events(700, since)
		r := o.order(since)
		o.step(r.ID, r.Hold)
		o.switchOff()
		c.advance(time.Hour)
		due, err := queue.DueResends(o.ctx, s, 10)
		require.NoError(t, err)
		require.Empty(t, due)
		r = o.step(r.ID, time.Time{})
		require.True(t, r.Finished && r.Stopped)
		require.Equal(t, 500, r.Resent, "it reports its progress")
	})
}
