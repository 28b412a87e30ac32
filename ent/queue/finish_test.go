package queue_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/event"
)

// finish fails the test if a lease was lost.
func (o outlet) finish(q *queue.Queue, outcomes ...queue.Outcome) {
	o.t.Helper()
	lost, err := q.Finish(o.ctx, outcomes)
	require.NoError(o.t, err)
	require.Zero(o.t, lost)
}

func (o outlet) leased(q *queue.Queue, webhook uuid.UUID) queue.Delivery {
	o.t.Helper()
	o.put(webhook, o.Now(), false)
	got := o.claim(q, queue.ClaimRequest{Lane: o.lane(webhook, false), Max: 1})
	require.Len(o.t, got, 1)
	return got[0]
}

func (o outlet) failingSince(webhook uuid.UUID) *time.Time {
	o.t.Helper()
	return o.Client().Webhook.GetX(o.ctx, webhook).FailingSince
}

func answer(number int, at time.Time, status int) *queue.Attempt {
	a := &queue.Attempt{Number: number, StartedAt: at, Duration: 21 * time.Millisecond, StatusCode: status}
	if status != 204 {
		a.Error = "status 500"
	}
	return a
}

const (
	failedFirst  = `{"number":1,"startedAt":"2026-10-01T12:00:00.000Z","durationMs":21,"statusCode":500,"error":"status 500"}`
	failedSecond = `{"number":2,"startedAt":"2026-10-01T12:01:00.000Z","durationMs":10000,"statusCode":null,"error":"timeout"}`
	wellThird    = `{"number":3,"startedAt":"2026-10-01T12:06:00.000Z","durationMs":21,"statusCode":204,"error":null}`
)

func TestADeliveryFromItsFirstAttemptToTheJournal(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		q := queue.New(s)
		d := o.leased(q, o.webhook)
		o.finish(q, queue.Outcome{Delivery: d, Attempt: answer(1, s.Now(), 500), Status: queue.Pending, Delay: time.Minute,
			CountsAsFailure: true})
		row := o.row(d.ID)
		require.Equal(t, "["+failedFirst+"]", string(row.Attempts))
		require.True(t, row.Retry)
		require.Nil(t, row.Lease)
		require.True(t, noon.Add(time.Minute).Equal(row.DueAt))
		require.True(t, noon.Equal(*o.failingSince(o.webhook)), "since its first failure")

		retry := queue.ClaimRequest{Lane: o.lane(o.webhook, true), Max: 1}
		c.advance(time.Minute - time.Millisecond)
		require.Empty(t, o.claim(q, retry), "not sooner than its delay")
		c.advance(time.Millisecond)
		got := o.claim(q, retry)
		require.Len(t, got, 1)
		require.Equal(t, "["+failedFirst+"]", string(got[0].Attempts), "the next attempt has the earlier ones")
		o.finish(q, queue.Outcome{Delivery: got[0], CountsAsFailure: true, Status: queue.Pending, Delay: 5 * time.Minute,
			Attempt: &queue.Attempt{
				Number: 2, StartedAt: s.Now(), Duration: 10 * time.Second, Error: "timeout",
			}})
		require.True(t, noon.Equal(*o.failingSince(o.webhook)), "a second failure in a row sets no new time")

		c.advance(5 * time.Minute)
		got = o.claim(q, retry)
		require.Len(t, got, 1)
		o.finish(q, queue.Outcome{Delivery: got[0], Attempt: answer(3, s.Now(), 204), Status: queue.Succeeded})
		require.Nil(t, o.failingSince(o.webhook), "a success ends the row of failures")
		require.Zero(t, dbtest.Count(t, s, "deliveries"))
		all := dbtest.FinishedDeliveries(t, s, "true")
		require.Len(t, all, 1)
		ended := all[0]
		require.Equal(t, "["+failedFirst+","+failedSecond+","+wellThird+"]", string(ended.Attempts))
		require.Equal(t, queue.Succeeded, ended.Status)
		require.Equal(t, []any{d.ID, o.owner, o.webhook, d.EventID, d.EventType},
			[]any{ended.ID, ended.StoreID, ended.WebhookID, ended.EventID, ended.EventType})
		require.True(t, noon.Equal(ended.CreatedAt))
		require.True(t, noon.Add(6*time.Minute).Equal(ended.FinishedAt))
	})
}

func TestOutcomesOfOneBatch(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		q := queue.New(d)
		well, badly, ping, ended, lost := o.newWebhook(), o.newWebhook(), o.newWebhook(), o.newWebhook(), o.newWebhook()
		since := noon.Add(-time.Hour)
		o.edit(well, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(since) })
		o.edit(badly, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(since) })
		deliveries := map[uuid.UUID]queue.Delivery{}
		for _, webhook := range []uuid.UUID{well, badly, ping, ended, lost} {
			deliveries[webhook] = o.leased(q, webhook)
		}
		o.exec("UPDATE deliveries SET lease = $1 WHERE webhook_id = $2", uuid.New(), lost)
		c.advance(time.Second)
		n, err := q.Finish(o.ctx, []queue.Outcome{
			{Delivery: deliveries[well], Attempt: answer(1, d.Now(), 204), Status: queue.Succeeded, CountsAsFailure: true},
			{Delivery: deliveries[badly], Attempt: answer(1, d.Now(), 500), Status: queue.Failed, CountsAsFailure: true},
			{Delivery: deliveries[ping], Attempt: answer(1, d.Now(), 500), Status: queue.Failed},
			{Delivery: deliveries[ended], Status: queue.Cancelled},
			{Delivery: deliveries[lost], Attempt: answer(1, d.Now(), 500), Status: queue.Pending, Delay: time.Minute},
		})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Nil(t, o.failingSince(well))
		require.True(t, since.Equal(*o.failingSince(badly)))
		require.Nil(t, o.failingSince(ping), "what does not count marks nothing")
		require.Nil(t, o.failingSince(ended))
		statuses := map[uuid.UUID]string{}
		attempts := map[uuid.UUID]string{}
		for _, row := range dbtest.FinishedDeliveries(t, d, "true") {
			statuses[row.WebhookID], attempts[row.WebhookID] = row.Status, string(row.Attempts)
		}
		require.Equal(t, map[uuid.UUID]string{well: "succeeded", badly: "failed", ping: "failed", ended: "cancelled"}, statuses)
		require.Equal(t, "[]", attempts[ended], "no attempt was made")
		require.Equal(t, map[uuid.UUID]int{deliveries[lost].EventID: 1}, o.live(lost))
		n, err = q.Finish(o.ctx, nil)
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// They count in the order in which their attempts ended.
func TestSuccessesAndFailuresOfOneBatch(t *testing.T) {
	t.Parallel()
	before, now := noon.Add(-time.Hour), noon.Add(time.Second)
	rows := []struct {
		reason       string
		failingSince *time.Time
		batch        string // outcomes: w success, b failure, p failure that does not count, c failure of a cancelled delivery
		failing      *time.Time
	}{
		{"it begins to fail", nil, "wb", &now},
		{"it failed before, and again after a success", &before, "bwb", &now},
		{"it recovers", nil, "bw", nil},
		{"it has recovered long ago", &before, "bbwbw", nil},
		{"it goes on failing", &before, "bb", &before},
		{"what does not count follows a success", &before, "wp", nil},
		{"what was cancelled follows a success", &before, "wc", nil},
		{"what does not count follows a failure", nil, "wbp", &now},
	}
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		q := queue.New(d)
		c.advance(time.Second)
		for _, row := range rows {
			webhook := o.newWebhook()
			if row.failingSince != nil {
				o.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(*row.failingSince) })
			}
			var outcomes []queue.Outcome
			for _, outcome := range row.batch {
				out := queue.Outcome{Delivery: o.leased(q, webhook), Attempt: answer(1, d.Now(), 500), Status: queue.Pending,
					Delay: time.Minute, CountsAsFailure: true}
				switch outcome {
				case 'w':
					out.Attempt, out.Status = answer(1, d.Now(), 204), queue.Succeeded
				case 'p':
					out.CountsAsFailure = false
				case 'c':
					out.Status = queue.Cancelled
				}
				outcomes = append(outcomes, out)
			}
			o.finish(q, outcomes...)
			got := o.failingSince(webhook)
			if row.failing == nil {
				require.Nil(t, got, row.reason)
				continue
			}
			require.NotNil(t, got, row.reason)
			require.True(t, row.failing.Equal(*got), "%s: %s", row.reason, got)
		}
	})
}

func TestADisabledWebhookIsMarkedByNoFailure(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		q := queue.New(s)
		d := o.leased(q, o.webhook)
		o.edit(o.webhook, func(u *ent.WebhookUpdateOne) { u.SetEnabled(false) })
		o.finish(q, queue.Outcome{Delivery: d, Attempt: answer(1, s.Now(), 500), Status: queue.Cancelled, CountsAsFailure: true})
		require.Nil(t, o.failingSince(o.webhook), "enabled again it starts clean")
	})
}

func TestReleasedDeliveriesAreDueAtOnce(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, c *handClock) {
		o := newOutlet(t, s, "atelier")
		q := queue.New(s)
		d := o.leased(q, o.webhook)
		c.advance(time.Second)
		require.NoError(t, q.Release(o.ctx, nil))
		require.NoError(t, q.Release(o.ctx, []queue.Delivery{d}))
		row := o.row(d.ID)
		require.Nil(t, row.Lease)
		require.True(t, s.Now().Equal(row.DueAt))
		require.False(t, row.Retry, "no attempt was made")
		lanes := o.lanesDue(queue.New(s))
		require.Equal(t, []queue.Lane{d.Lane}, lanes)
		got := o.claim(q, queue.ClaimRequest{Lane: d.Lane, Max: 1})
		require.Len(t, got, 1)
		require.NotEqual(t, d.Lease, got[0].Lease)
	})
}

// noticeTypes returns the types of the notices written so far.
func (o outlet) noticeTypes() (types []string) {
	o.t.Helper()
	for _, e := range o.Client().Event.Query().Where(event.StoreID(notice.NoStore)).Order(event.ByID()).AllX(o.ctx) {
		types = append(types, e.Type)
	}
	return types
}

// The outcomes of a webhook's attempts cause notices: of its failures once they have lasted an hour, of the success after them,
// and of its disabling. Failures of the webhook that gets the notices cause none.
func TestOutcomesCauseNotices(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		key, err := seal.ParseKey(seal.NewKey())
		require.NoError(t, err)
		require.NoError(t, notice.SetWebhook(t.Context(), d, seal.NewKeyring(key), "https://mailer.example", "whsec_x"))
		o := newOutlet(t, d, "atelier")
		q := queue.New(d)
		o.exec("UPDATE webhooks SET failing_since = $1 WHERE store_id = $2", d.Now(), notice.NoStore)
		sweep := func() { require.NoError(t, notice.Sweep(o.ctx, d)) }
		fail := func() {
			o.finish(q, queue.Outcome{Delivery: o.leased(q, o.webhook), Attempt: answer(1, d.Now(), 500), Status: queue.Failed,
				CountsAsFailure: true})
		}
		succeed := func() {
			o.finish(q, queue.Outcome{Delivery: o.leased(q, o.webhook), Attempt: answer(1, d.Now(), 204), Status: queue.Succeeded})
		}
		sweep()
		for range 3 { // fails and succeeds in turns
			fail()
			c.advance(59 * time.Minute)
			sweep()
			succeed()
		}
		require.Empty(t, o.noticeTypes())
		fail()
		c.advance(time.Hour)
		sweep()
		succeed()
		require.Equal(t, []string{notice.WebhookFailing, notice.WebhookRecovered}, o.noticeTypes())
		fail()
		c.advance(patience)
		require.True(t, o.disable(q))
		sweep()
		require.Equal(t, []string{notice.WebhookFailing, notice.WebhookRecovered, notice.WebhookDisabled}, o.noticeTypes())
	})
}
