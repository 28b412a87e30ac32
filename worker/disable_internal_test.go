package worker

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
)

// failed makes the first attempt of a new event's delivery fail.
func (m merchant) failed(w *stepped) uuid.UUID {
	m.t.Helper()
	event := m.emit(hook.OrderPaid, 1)[0]
	m.receiver.always(http.StatusInternalServerError)
	require.Positive(m.t, w.pass())
	return event
}

func (m merchant) webhook(id uuid.UUID) *ent.Webhook {
	m.t.Helper()
	return m.Client().Webhook.GetX(m.ctx, id)
}

func (m merchant) enable(webhook uuid.UUID) {
	m.t.Helper()
	m.edit(webhook, func(u *ent.WebhookUpdateOne) {
		u.SetEnabled(true).ClearDisabledAt().SetDisabledAutomatically(false).ClearFailingSince()
	})
}

func TestAWebhookThatFailsForThreeDays(t *testing.T) {
	t.Parallel()
	const threeDays = 72 * time.Hour
	rows := []struct {
		reason string
		// history comes between the webhook's first failure and the last one, and may make attempts.
		history  func(m merchant, w *stepped, webhook uuid.UUID)
		disabled bool
	}{
		{"just before three days", func(m merchant, _ *stepped, _ uuid.UUID) { m.clock.advance(threeDays - time.Millisecond) }, false},
		{"three days to the millisecond", func(m merchant, _ *stepped, _ uuid.UUID) { m.clock.advance(threeDays) }, true},
		{"few events: the next failure is days later", func(m merchant, _ *stepped, _ uuid.UUID) { m.clock.advance(200 * time.Hour) },
			true},
		{"a success in between", func(m merchant, w *stepped, _ uuid.UUID) {
			m.clock.advance(threeDays - time.Hour)
			m.receiver.always(http.StatusOK)
			m.emit(hook.OrderPaid, 1)
			w.pass()
			m.clock.advance(2 * time.Hour)
		}, false},
		{"a success, and three days of failures after it", func(m merchant, w *stepped, _ uuid.UUID) {
			m.clock.advance(time.Hour)
			m.receiver.always(http.StatusOK)
			m.emit(hook.OrderPaid, 1)
			w.pass()
			m.clock.advance(time.Hour)
			m.failed(w)
			m.clock.advance(threeDays)
		}, true},
		{"enabled again it starts clean", func(m merchant, w *stepped, webhook uuid.UUID) {
			m.clock.advance(threeDays)
			m.failed(w)
			require.False(m.t, m.webhook(webhook).Enabled)
			m.clock.advance(time.Hour)
			m.enable(webhook)
		}, false},
		{"enabled again it has three days again", func(m merchant, w *stepped, webhook uuid.UUID) {
			m.clock.advance(threeDays)
			m.failed(w)
			m.enable(webhook)
			m.failed(w)
			m.clock.advance(threeDays)
		}, true},
	}
	forEach(t, func(t *testing.T, in *installation) {
		for i, row := range rows {
			m := in.newMerchant("store-" + string(rune('a'+i)))
			webhook := m.newWebhook()
			w := in.worker()
			m.failed(w)
			require.Equal(t, in.Now(), m.webhook(webhook).FailingSince.UTC(), row.reason)
			row.history(m, w, webhook)
			in.receiver.forget()
			last := m.failed(w)
			got := m.webhook(webhook)
			require.Equal(t, !row.disabled, got.Enabled, row.reason)
			waiting := dbtest.Count(t, in.DB, "deliveries WHERE webhook_id = $1", webhook)
			status, attempts := in.journal(webhook, last)
			entries := in.Client().ActivityEntry.Query().
				Where(activityentry.StoreID(m.id), activityentry.ActorName("automatic disabling"),
					activityentry.CreatedAt(in.Now())).CountX(m.ctx)
			if !row.disabled {
				require.Positive(t, waiting, row.reason)
				require.Empty(t, status, row.reason)
				require.Zero(t, entries, row.reason)
				in.exec("DELETE FROM deliveries WHERE webhook_id = $1", webhook)
				continue
			}
			require.Zero(t, waiting, row.reason)
			require.Equal(t, "cancelled", status, "%s: the one that failed last is cancelled with the rest", row.reason)
			require.Len(t, attempts, 1, row.reason)
			require.True(t, got.DisabledAutomatically)
			require.True(t, in.Now().Equal(*got.DisabledAt))
			require.Equal(t, 1, entries, row.reason)
			m.emit(hook.OrderPaid, 1)
			in.receiver.forget()
			w.pass()
			require.Empty(t, in.receiver.got(), "%s: a disabled webhook gets nothing", row.reason)
		}
	})
}

// The outcome is written once. The next failure tries to disable the webhook again.
func TestADisablingThatFails(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		registry := prometheus.NewPedanticRegistry()
		var log lines
		w := in.worker(func(c *Config) { c.Metrics, c.Logger = registry, log.logger() })
		m.failed(w)
		in.clock.advance(DefaultDisableAfter)
		in.exec("ALTER TABLE resends RENAME TO away")
		m.emit(hook.OrderPaid, 1)
		begun := w.begin()
		require.Positive(t, begun)
		var batch []endedLease
		for range begun {
			batch = append(batch, w.one())
		}
		w.write(m.ctx, batch)
		w.dispatcher.end(batch)
		require.Contains(t, log.String(), "disable a webhook")
		require.Zero(t, values(t, registry)["leases_lost_total"])
		in.exec("ALTER TABLE away RENAME TO resends")
		require.True(t, m.webhook(webhook).Enabled)
		m.failed(w)
		require.False(t, m.webhook(webhook).Enabled)
	})
}

func TestTheLastAttemptMayDisable(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		w := in.worker(func(c *Config) { c.RetryDelays = []time.Duration{time.Minute} })
		event := m.failed(w)
		m.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(in.Now().Add(-100 * time.Hour)) })
		in.clock.advance(2 * time.Minute)
		require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "cancelled", status, "the status in the journal")
		require.Len(t, attempts, 2, "attempts in the journal")
		require.False(t, m.webhook(webhook).Enabled)
	})
}

// The webhook stays enabled, and the failed delivery waits for its next attempt.
func TestASuccessOfTheSameBatchKeepsTheSchedule(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		w := in.worker()
		events := m.emit(hook.OrderPaid, 2)
		m.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(in.Now().Add(-100 * time.Hour)) })
		in.receiver.answers(func(r request) int {
			if r.event == events[0] {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		require.Equal(t, 2, w.begin(), "attempts that were due and are begun")
		w.finish()
		require.True(t, m.webhook(webhook).Enabled)
		live := in.delivery()
		require.GreaterOrEqual(t, live.DueAt.Sub(in.Now()), time.Minute)
	})
}

// A delivery whose attempt fails is then cancelled; one that succeeds is a success.
func TestAttemptsUnderWayWhenTheirWebhookIsDisabled(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		w := in.worker()
		events := m.emit(hook.OrderPaid, 2)
		in.receiver.answers(func(r request) int {
			if r.event == events[0] {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		require.Equal(t, 2, w.begin(), "attempts that were due and are begun")
		m.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetEnabled(false) })
		w.finish()
		status, attempts := in.journal(webhook, events[0])
		require.Equal(t, "cancelled", status, "it failed, and is not tried again")
		require.Len(t, attempts, 1, "attempts in the journal")
		status, _ = in.journal(webhook, events[1])
		require.Equal(t, "succeeded", status, "the status in the journal")
		require.Nil(t, m.webhook(webhook).FailingSince)
	})
}

// The webhook was disabled and enabled during the attempt. Its failure is not retried and does not count.
func TestAnAttemptOutlivesTheEpochOfItsWebhook(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		w := in.worker()
		event := m.emit(hook.OrderPaid, 1)[0]
		in.receiver.always(http.StatusInternalServerError)
		require.Equal(t, 1, w.begin(), "attempts that were due and are begun")
		m.change(func(c *hook.Change) error {
			if err := c.MarkLocked(c.Tx.Webhook.GetX(c, webhook)); err != nil {
				return err
			}
			if err := c.Tx.Webhook.UpdateOneID(webhook).SetEnabled(false).Exec(c); err != nil {
				return err
			}
			return queue.Cancel(c, m.id, webhook)
		})
		m.enable(webhook)
		w.finish()
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "cancelled", status, "the status in the journal")
		require.Len(t, attempts, 1, "attempts in the journal")
		require.Nil(t, m.webhook(webhook).FailingSince)
	})
}
