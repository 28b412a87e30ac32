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

// After a resend has read an event, its delivery fails or is cancelled. A second resend sends the event again, unless the
// delivery is still pending.
func TestResendSaidAgainTakesWhatItHasPassed(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		// called between the first resend's first step and the second resend
		meanwhile func(o outlet)
		resent    int // by the second resend
	}{
		{"nothing has ended", func(outlet) {}, 600},
		{"they have failed", func(o outlet) {
			for _, d := range dbtest.Deliveries(o.t, o.DB, "true") {
				o.ended(o.draft(o.webhook, d.EventID), queue.Failed)
				o.exec("DELETE FROM deliveries WHERE id = $1", d.ID)
			}
		}, 1100},
		{"they are cancelled", func(o outlet) {
			o.switchOff()
			o.switchOn()
		}, 1100},
		{"they are cancelled and moved to the journal", func(o outlet) {
			o.switchOff()
			o.cancelAll(queue.New(o.DB))
			o.switchOn()
		}, 1100},
	}
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		for i, row := range rows {
			o := newOutlet(t, s, "atelier-"+strconv.Itoa(i))
			since := s.Now().Add(-time.Hour)
			o.events(1100, since)
			first := o.order(since)
			require.Equal(t, 500, o.step(first.ID).Resent, row.reason)
			row.meanwhile(o)
			again := o.carryOut(o.order(since))
			require.Equal(t, row.resent, again.Resent, row.reason)
			require.False(t, again.Stopped, row.reason)
			require.Equal(t, 500, o.carryOut(o.step(first.ID)).Resent, "%s: nothing is left for the first one", row.reason)
			require.Equal(t, map[string]int{queue.Pending: 1100}, withoutEnded(o.statuses(queue.Search{})), row.reason)
			o.exec("DELETE FROM deliveries WHERE store_id = $1", o.owner)
		}
	})
}

func withoutEnded(counts map[string]int) map[string]int {
	return map[string]int{queue.Pending: counts[queue.Pending]}
}

// Even if no process continues them.
func TestAResendThatNobodyContinuesEndsWithItsWebhook(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		since := noon.Add(-time.Hour)
		o.events(700, since)
		r := o.order(since)
		o.step(r.ID)
		o.switchOff()
		c.advance(time.Hour)
		due, err := queue.UnfinishedResends(o.ctx, d, 10)
		require.NoError(t, err)
		require.Empty(t, due)
		r = o.step(r.ID)
		require.True(t, r.Finished && r.Stopped)
		require.Equal(t, 500, r.Resent, "it reports its progress")
	})
}
