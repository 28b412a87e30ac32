package queue_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
)

const patience = 72 * time.Hour

func (o outlet) disable(q *queue.Queue) bool {
	o.t.Helper()
	disabled, err := q.Disable(o.ctx, o.owner, o.webhook, patience)
	require.NoError(o.t, err)
	return disabled
}

// failingFor makes the webhook's first failure since its last success d ago.
func (o outlet) failingFor(d time.Duration) {
	o.t.Helper()
	o.edit(o.webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(o.Now().Add(-d)) })
}

func TestWhatHasFailedTooLong(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		become func(o outlet)
		want   queue.WebhookState
		found  bool
	}{
		{"it never failed", func(outlet) {}, queue.WebhookState{Enabled: true}, true},
		{"just before the time", func(o outlet) { o.failingFor(patience - time.Millisecond) }, queue.WebhookState{Enabled: true}, true},
		{"at the very time", func(o outlet) { o.failingFor(patience) }, queue.WebhookState{Enabled: true, FailedTooLong: true}, true},
		{"long after it", func(o outlet) { o.failingFor(24 * patience) }, queue.WebhookState{Enabled: true, FailedTooLong: true}, true},
		{"it is disabled", func(o outlet) {
			o.failingFor(patience)
			o.edit(o.webhook, func(u *ent.WebhookUpdateOne) { u.SetEnabled(false) })
		}, queue.WebhookState{}, false},
		{"it is gone", func(o outlet) { o.exec("DELETE FROM webhooks WHERE id = $1", o.webhook) }, queue.WebhookState{}, false},
	}
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		for _, row := range rows {
			o.webhook = o.newWebhook()
			row.become(o)
			healths, err := queue.New(d).WebhookStates(o.ctx, []uuid.UUID{o.webhook, o.webhook}, patience)
			require.NoError(t, err, row.reason)
			health, found := healths[o.webhook]
			require.Equal(t, row.found, found, row.reason)
			require.Equal(t, []bool{row.want.Enabled, row.want.FailedTooLong}, []bool{health.Enabled, health.FailedTooLong}, row.reason)
			require.Equal(t, row.want.FailedTooLong, o.disable(queue.New(d)), row.reason)
		}
	})
}

func TestDisableCancelsWhatWaits(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		q := queue.New(d)
		underWay := o.leased(q, o.webhook)
		first := o.put(o.webhook, d.Now(), false)
		retry := o.put(o.webhook, d.Now().Add(6*time.Hour), true)
		spared := o.newWebhook()
		o.put(spared, d.Now(), false)
		o.failingFor(patience)
		entries := d.Client().ActivityEntry.Query().CountX(o.ctx)
		c.advance(time.Second)
		require.True(t, o.disable(q))

		w := d.Client().Webhook.GetX(o.ctx, o.webhook)
		require.False(t, w.Enabled)
		require.True(t, w.DisabledAutomatically)
		require.True(t, d.Now().Equal(*w.DisabledAt))
		require.True(t, d.Now().Equal(w.UpdatedAt))
		require.Equal(t, 2, o.cancelAll(q))
		cancelled := dbtest.FinishedDeliveries(t, d, "true")
		require.Len(t, cancelled, 2)
		for _, row := range cancelled {
			require.Equal(t, queue.Cancelled, row.Status)
			require.Contains(t, []uuid.UUID{first.ID, retry.ID}, row.ID)
		}
		require.Equal(t, map[uuid.UUID]int{underWay.EventID: 1}, o.live(o.webhook), "its worker ends it")
		require.Len(t, o.live(spared), 1)

		require.Equal(t, entries+1, d.Client().ActivityEntry.Query().CountX(o.ctx))
		entry := d.Client().ActivityEntry.Query().Where(activityentry.ActorName("automatic disabling")).OnlyX(o.ctx)
		require.Equal(t, "operator", entry.ActorType)
		require.Equal(t, "webhook.disabled", entry.Action)
		require.Equal(t, []any{"webhook", o.webhook, o.owner}, []any{entry.ResourceType, entry.ResourceID, entry.StoreID})
		require.JSONEq(t, `{"enabled":{"from":true,"to":false},"disabledAutomatically":{"from":false,"to":true}}`,
			string(entry.Changes))

		c.advance(time.Second)
		require.False(t, o.disable(q), "it is disabled already")
		require.True(t, d.Client().Webhook.GetX(o.ctx, o.webhook).DisabledAt.Equal(*w.DisabledAt))
		require.Equal(t, entries+1, d.Client().ActivityEntry.Query().CountX(o.ctx))
	})
}

func TestASuccessInBetweenKeepsAWebhookEnabled(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		q := queue.New(s)
		d := o.leased(q, o.webhook)
		o.put(o.webhook, s.Now(), false)
		o.failingFor(patience)
		healths, err := q.WebhookStates(o.ctx, []uuid.UUID{o.webhook}, patience)
		require.NoError(t, err)
		require.True(t, healths[o.webhook].FailedTooLong)
		o.finish(q, queue.Outcome{Delivery: d, Attempt: answer(1, s.Now(), 204), Status: queue.Succeeded})
		require.False(t, o.disable(q))
		require.True(t, s.Client().Webhook.GetX(o.ctx, o.webhook).Enabled)
		require.Len(t, o.live(o.webhook), 1)
	})
}

func TestWorkersThatDisableAtOnceDoItOnce(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		o.put(o.webhook, d.Now(), false)
		o.failingFor(patience)
		var (
			all  sync.WaitGroup
			mu   sync.Mutex
			done int
		)
		for range 4 {
			all.Go(func() {
				disabled, err := queue.New(d).Disable(o.ctx, o.owner, o.webhook, patience)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if disabled {
					done++
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, done)
		require.Equal(t, 1, d.Client().ActivityEntry.Query().Where(activityentry.ActorName("automatic disabling")).CountX(o.ctx))
		require.Equal(t, 1, o.cancelAll(queue.New(d)))
	})
}
