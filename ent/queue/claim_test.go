package queue_test

import (
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

func (o outlet) lane(webhook uuid.UUID, retry bool) queue.Lane {
	return queue.Lane{StoreID: o.owner, WebhookID: webhook, Retry: retry}
}

func (o outlet) claim(q *queue.Queue, requests ...queue.ClaimRequest) []queue.Delivery {
	o.t.Helper()
	got, err := q.Claim(o.ctx, requests, lease)
	require.NoError(o.t, err)
	return got
}

// put adds a delivery of a new event that is due at due, in the lane of retries if retry is true.
func (o outlet) put(webhook uuid.UUID, due time.Time, retry bool) fanout.Delivery {
	o.t.Helper()
	d := o.draft(webhook, o.event(hook.OrderPaid, o.Now()))
	o.add(d)
	o.exec("UPDATE deliveries SET due_at = $1, retry = $2 WHERE id = $3", due, retry, d.ID)
	return d
}

func ids(deliveries []queue.Delivery) []uuid.UUID {
	found := make([]uuid.UUID, len(deliveries))
	for i, d := range deliveries {
		found[i] = d.ID
	}
	return found
}

func TestClaimTakesTheLongestDueOfEachLane(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		second := o.newWebhook()
		now := s.Now()
		third := o.put(o.webhook, now.Add(-time.Minute), false)
		oldest := o.put(o.webhook, now.Add(-3*time.Minute), false)
		middle := o.put(o.webhook, now.Add(-2*time.Minute), false)
		retry := o.put(o.webhook, now.Add(-time.Hour), true)
		exact := o.put(second, now, true)
		o.put(second, now.Add(time.Millisecond), true)
		o.put(second, now.Add(-time.Hour), false)

		q := queue.New(s)
		got := o.claim(q,
			queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 2},
			queue.ClaimRequest{Lane: o.lane(second, true), Max: 10},
			queue.ClaimRequest{Lane: o.lane(uuid.New(), false), Max: 10})
		require.ElementsMatch(t, []uuid.UUID{oldest.ID, middle.ID, exact.ID}, ids(got),
			"the oldest up to Max; not what is not due, not retries with first attempts, no lane that was not asked for")
		for _, d := range got {
			row := o.row(d.ID)
			require.Equal(t, d.Lease, *row.Lease)
			require.True(t, now.Add(lease).Equal(*row.LeasedUntil))
			require.Equal(t, row.Retry, d.Retry)
			require.True(t, row.CreatedAt.Equal(d.CreatedAt))
			require.True(t, row.DueAt.Equal(d.DueAt))
			require.Equal(t, queue.Delivery{
				Lane: o.lane(row.WebhookID, row.Retry), ID: row.ID, Lease: d.Lease, EventID: row.EventID, EventType: hook.OrderPaid,
				Attempts: []byte("[]"), CreatedAt: d.CreatedAt, DueAt: d.DueAt, Epoch: 1,
				URL: "https://receiver.example", Secret: []byte("sealed"), SecretKey: "key", Payload: []byte("{}"),
			}, d)
		}
		got = o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 2})
		require.Equal(t, []uuid.UUID{third.ID}, ids(got), "a claim goes on where the last one ended")
		require.Empty(t, o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 2}), "all are leased")
		require.Equal(t, []uuid.UUID{retry.ID}, ids(o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, true), Max: 2})))
		require.Empty(t, o.claim(q))
	})
}

func TestALeaseThatEndedIsAnothersToTake(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		o.put(o.webhook, d.Now(), false)
		slow, quick := queue.New(d), queue.New(d)
		request := queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 5}
		first := o.claim(slow, request)
		require.Len(t, first, 1)
		c.advance(lease - time.Millisecond)
		require.Empty(t, o.claim(quick, request), "the lease holds")
		c.advance(time.Millisecond)
		o.allDue(quick)
		second := o.claim(quick, request)
		require.Len(t, second, 1)
		require.Equal(t, first[0].ID, second[0].ID)
		require.NotEqual(t, first[0].Lease, second[0].Lease)

		answered := queue.Attempt{Number: 1, StartedAt: d.Now(), StatusCode: 500, Error: "status 500"}
		for _, late := range []queue.Outcome{
			{Delivery: first[0], Attempt: &answered, Status: queue.Failed},
			{Delivery: first[0], Attempt: &answered, Status: queue.Pending, Delay: time.Minute},
		} {
			lost, err := slow.Finish(o.ctx, []queue.Outcome{late})
			require.NoError(t, err)
			require.Equal(t, 1, lost)
		}
		require.NoError(t, slow.Release(o.ctx, first))
		row := o.row(first[0].ID)
		require.Equal(t, second[0].Lease, *row.Lease, "who was too slow changes nothing")
		require.Equal(t, "[]", string(row.Attempts))
		require.False(t, row.Retry)

		answered = queue.Attempt{Number: 1, StartedAt: d.Now(), StatusCode: 204}
		lost, err := quick.Finish(o.ctx, []queue.Outcome{{Delivery: second[0], Attempt: &answered, Status: queue.Succeeded}})
		require.NoError(t, err)
		require.Zero(t, lost)
		require.Zero(t, dbtest.Count(t, d, "deliveries"))
		require.Equal(t, 1, dbtest.Count(t, d, "finished_deliveries"))
	})
}

func TestClaimTellsWhatCannotBeAttempted(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason  string
		become  func(o outlet, d fanout.Delivery)
		claimed int
		payload bool
	}{
		{"all is there", func(outlet, fanout.Delivery) {}, 1, true},
		{"the webhook is disabled", func(o outlet, d fanout.Delivery) {
			o.edit(d.WebhookID, func(u *ent.WebhookUpdateOne) { u.SetEnabled(false) })
		}, 0, true},
		{"the webhook is deleted", func(o outlet, d fanout.Delivery) { o.exec("DELETE FROM webhooks WHERE id = $1", d.WebhookID) }, 0,
			true},
		{"the webhook was disabled and enabled again", func(o outlet, d fanout.Delivery) {
			o.exec("UPDATE webhooks SET epoch = 2 WHERE id = $1", d.WebhookID)
		}, 0, true},
		{"the event is kept no longer", func(o outlet, d fanout.Delivery) { o.exec("DELETE FROM events WHERE id = $1", d.EventID) }, 1,
			false},
	}
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		for _, row := range rows {
			webhook := o.newWebhook()
			d := o.put(webhook, s.Now(), false)
			row.become(o, d)
			got := o.claim(queue.New(s), queue.ClaimRequest{Lane: o.lane(webhook, false), Max: 1})
			require.Len(t, got, row.claimed, row.reason)
			if row.claimed == 0 {
				continue
			}
			require.True(t, got[0].URL != "" && got[0].Secret != nil && got[0].SecretKey != "", row.reason)
			require.Equal(t, row.payload, got[0].Payload != nil, row.reason)
		}
	})
}

func TestClaimsAtOnceShareNoRow(t *testing.T) {
	t.Parallel()
	const claimers, deliveries = 4, 400
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		o := newOutlet(t, s, "atelier")
		second := o.newWebhook()
		drafts := make([]fanout.Delivery, deliveries)
		for i := range drafts {
			drafts[i] = o.draft([]uuid.UUID{o.webhook, second}[i%2], id.At(s.Now()))
		}
		o.add(drafts...)
		var (
			all   sync.WaitGroup
			mu    sync.Mutex
			taken = map[uuid.UUID]int{}
		)
		for range claimers {
			all.Go(func() {
				q := queue.New(s)
				for empty := 0; empty < 3; {
					got, err := q.Claim(o.ctx, []queue.ClaimRequest{
						{Lane: o.lane(o.webhook, false), Max: 7}, {Lane: o.lane(second, false), Max: 5},
					}, time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					if len(got) == 0 {
						empty++
					}
					mu.Lock()
					for _, d := range got {
						taken[d.ID]++
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Len(t, taken, deliveries)
		for delivery, n := range taken {
			require.Equal(t, 1, n, delivery)
		}
	})
}

// Claim does not wait for it.
func TestClaimPassesWhatAnotherHolds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{Clock: newHandClock(0).now, Settings: map[string]string{"lock_timeout": "2000"}})
	o := newOutlet(t, d, "atelier")
	held, free := o.put(o.webhook, d.Now(), false), o.put(o.webhook, d.Now(), false)
	tx, err := d.Writer().Begin()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec("SELECT 1 FROM deliveries WHERE id = $1 FOR UPDATE", held.ID)
	require.NoError(t, err)
	q, request := queue.New(d), queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 10}
	require.Equal(t, []uuid.UUID{free.ID}, ids(o.claim(q, request)))
	require.NoError(t, tx.Rollback())
	require.Equal(t, []uuid.UUID{held.ID}, ids(o.claim(q, request)))
}
