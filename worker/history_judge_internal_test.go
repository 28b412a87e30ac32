package worker

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/queue"
)

// remember keeps deliveries whose lease was lost, before the batch is written, for h.unchanged to compare.
func (h *history) remember(batch []endedLease) {
	h.late = nil
	for _, r := range batch {
		delivery := r.outcome.Delivery
		h.late = append(h.late, dbtest.Deliveries(h.rt, h.DB, "id = $1 AND (lease IS NULL OR lease <> $2)",
			delivery.ID, delivery.Lease)...)
	}
}

// unchanged checks that results of lost leases have changed nothing. A delivery without a running attempt may have been
// cancelled, if its webhook ever was disabled or deleted.
func (h *history) unchanged() {
	for _, late := range h.late {
		found := dbtest.Deliveries(h.rt, h.DB, "id = $1", late.ID)
		disabled := slices.ContainsFunc(h.subscribers, func(s *subscriber) bool { return s.id == late.WebhookID && s.ended })
		if len(found) == 0 && disabled && (late.LeasedUntil == nil || !late.LeasedUntil.After(h.Now())) {
			continue
		}
		require.Len(h.rt, found, 1)
		row := found[0]
		require.Equal(h.rt, []any{late.Lease, late.DueAt.UTC(), late.Retry, string(late.Attempts)},
			[]any{row.Lease, row.DueAt.UTC(), row.Retry, string(row.Attempts)}, "who was too slow changes nothing")
	}
}

// learn updates the model with what a worker wrote, and compares the webhooks' rows with it.
func (h *history) learn(batch []endedLease) {
	now := h.Now()
	for _, s := range h.subscribers {
		// The batch is sorted by the attempts' ends. A failure does not count for a delivery from before the webhook was last
		// disabled.
		well, badly := false, false
		for _, r := range batch {
			switch {
			case r.outcome.Delivery.WebhookID != s.id:
			case r.receiver == receiverSucceeded:
				well, badly = true, false
			case r.receiver == receiverFailed && r.outcome.Delivery.Epoch == s.epoch:
				badly = true
			}
		}
		if s.deleted {
			continue
		}
		row, err := h.Client().Webhook.Get(context.Background(), s.id)
		require.NoError(h.rt, err)
		if well {
			s.since = time.Time{}
		}
		switch {
		case badly && s.enabled && s.since.IsZero():
			s.since = now
		case badly && s.enabled && now.Sub(s.since) >= DefaultDisableAfter:
			s.enabled, s.ended = false, true
			s.epoch++
		}
		require.Equal(h.rt, s.enabled, row.Enabled, "failing since %s, now %s", s.since, now)
		if s.enabled {
			require.Equal(h.rt, s.since.IsZero(), row.FailingSince == nil)
			if row.FailingSince != nil {
				require.Equal(h.rt, s.since, row.FailingSince.UTC())
			}
		}
	}
	h.unchanged()
}

// end lets the whole retry schedule pass, and compares the journal, the model and what arrived.
func (h *history) end() {
	for range 10 {
		for _, w := range h.workers {
			w.finish()
			w.pass()
		}
		h.clock.advance(14 * time.Hour)
	}
	for _, w := range h.workers {
		w.client.Close()
	}
	require.Zero(h.rt, dbtest.Count(h.rt, h.DB, "deliveries"), "everything comes to an end")
	require.Empty(h.rt, h.forged)
	arrived := map[pair][]request{}
	for _, r := range h.receiver.got() {
		arrived[pair{r.event, r.webhook}] = append(arrived[pair{r.event, r.webhook}], r)
	}
	found := map[pair]bool{}
	for _, s := range h.subscribers {
		for _, row := range dbtest.FinishedDeliveries(h.rt, h.DB, "webhook_id = $1", s.id) {
			p := pair{row.EventID, row.WebhookID}
			require.False(h.rt, found[p], "an event once at a webhook")
			found[p] = true
			h.judge(s, row, arrived[p], h.uncertain[p])
		}
	}
	require.Equal(h.rt, h.expected, found)
	for p := range arrived {
		require.True(h.rt, h.expected[p], "nothing else arrives")
	}
}

// judge checks that the attempts of a finished delivery follow the retry delays and agree with the requests.
func (h *history) judge(s *subscriber, row dbtest.FinishedDelivery, arrived []request, uncertain bool) {
	attempts, err := queue.Attempts(row.Attempts)
	require.NoError(h.rt, err)
	delays := DefaultRetryDelays()
	require.LessOrEqual(h.rt, len(attempts), len(delays)+1, "attempts of one delivery")
	successes := 0
	for i, a := range attempts {
		require.Equal(h.rt, i+1, a.Number)
		if i > 0 {
			require.False(h.rt, a.StartedAt.Before(attempts[i-1].StartedAt.Add(delays[i-1])), "attempt %d came too soon", a.Number)
		}
		if a.Succeeded() {
			successes++
			require.Equal(h.rt, len(attempts), a.Number, "nothing follows a success")
		}
		require.True(h.rt, slices.ContainsFunc(arrived, func(r request) bool {
			return r.attempt == a.Number && (r.answered == a.StatusCode || a.StatusCode == 0 && (r.answered == drop ||
				a.Error == "timeout"))
		}), "attempt %d is as its receiver saw it: %+v, not %+v", a.Number, a, arrived)
	}
	if !uncertain {
		arrived = slices.CompactFunc(arrived, func(a, b request) bool { return a.attempt == b.attempt && a.answered == drop })
		require.Len(h.rt, arrived, len(attempts), "an attempt is one request, or another on a new connection when a kept one "+
			"was closed")
	}
	switch row.Status {
	case queue.Succeeded:
		require.Equal(h.rt, 1, successes, "successes of a delivery that has succeeded")
	case queue.Failed:
		require.Zero(h.rt, successes, "successes of a delivery that is %s", row.Status)
		require.Len(h.rt, attempts, len(delays)+1, "attempts in the journal")
	default:
		require.Zero(h.rt, successes, "successes of a delivery that is %s", row.Status)
		require.True(h.rt, s.ended, "only what is disabled or deleted has its deliveries cancelled")
	}
}
