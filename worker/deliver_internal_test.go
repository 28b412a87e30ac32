package worker

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent"
	"go.storefront.example/worker/signature"
)

func TestTheWholeSchedule(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.always(http.StatusInternalServerError)
		event := m.emit(hook.OrderPaid, 1)[0]
		w := in.worker()
		require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		start := in.Now()
		for i, delay := range []time.Duration{
			time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
		} {
			due := in.delivery().DueAt.Sub(in.Now())
			require.GreaterOrEqual(t, due, delay, "after attempt %d", i+1)
			require.LessOrEqual(t, due, delay+delay/10, "after attempt %d", i+1)
			in.clock.advance(due - time.Millisecond)
			require.Zero(t, w.pass(), "not before its time")
			in.clock.advance(time.Millisecond)
			require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		}
		elapsed := in.Now().Sub(start)
		require.GreaterOrEqual(t, elapsed, 22*time.Hour+21*time.Minute, "the time from the first attempt to the last")
		require.LessOrEqual(t, elapsed, 24*time.Hour+36*time.Minute, "the time from the first attempt to the last")
		in.clock.advance(48 * time.Hour)
		require.Zero(t, w.pass(), "the eighth was the last")

		got := in.receiver.got()
		require.Len(t, got, 8)
		for i, r := range got {
			require.Equal(t, i+1, r.attempt, "the number in the header of the attempt")
			require.Equal(t, event, r.event, "one id for all attempts")
			require.Equal(t, got[0].body, r.body, "the body of attempt %d", i+1)
		}
		status, attempts := in.journal(webhook, event)
		require.Equal(t, "failed", status, "the status in the journal")
		require.Len(t, attempts, 8, "attempts in the journal")
		for i, a := range attempts {
			require.Equal(t, []any{i + 1, 500, "status 500", "the shop answers 500"}, []any{a.Number, a.StatusCode, a.Error, a.Answer})
			err := signature.Verify(got[i].header.Get(signature.Header), got[i].body, in.secrets[webhook], a.StartedAt, 0)
			require.NoError(t, err, "signed anew at its own time")
		}
		require.True(t, in.Client().Webhook.GetX(m.ctx, webhook).Enabled, "not 72 hours")
	})
}

func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	rows := []struct {
		answer int
		status int // the attempt's status in the journal
		err    string
		reason string
	}{
		{200, 200, "", "2xx is a success"},
		{202, 202, "", "2xx is a success"},
		{204, 204, "", "2xx is a success"},
		{299, 299, "", "2xx is a success"},
		{301, 301, "redirect 301", "redirects are not followed"},
		{302, 302, "redirect 302", "redirects are not followed"},
		{307, 307, "redirect 307", "redirects are not followed"},
		{304, 304, "redirect 304", "3xx is a failure"},
		{400, 400, "status 400", "a refusal may be mended until the next attempt"},
		{401, 401, "status 401", "the same"},
		{404, 404, "status 404", "the same"},
		{410, 410, "status 410", "the same"},
		{411, 411, "status 411", "the same"},
		{419, 419, "status 419", "the same"},
		{499, 499, "status 499", "the same"},
		{429, 429, "status 429", "Retry-After is not followed"},
		{503, 503, "status 503", "Retry-After is not followed"},
		{drop, 0, "connection closed without an answer", "no answer is no success"},
	}
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		in.receiver.headers = http.Header{"Retry-After": {"86400"}, "Location": {in.receiver.URL + "/elsewhere"}, "Set-Cookie": {"a=b"}}
		w := in.worker()
		for _, row := range rows {
			webhook := m.newWebhook()
			in.receiver.forget()
			in.receiver.always(row.answer)
			event := m.enqueue(webhook, hook.OrderPaid)
			require.Equal(t, 1, w.pass(), row.reason)
			requests := 1
			if row.answer == drop {
				requests = 2 // the first on a kept connection, which the receiver closes; the second on a new connection
			}
			require.Len(t, in.receiver.got(), requests, "%d: one attempt is one request", row.answer)
			require.NotContains(t, in.receiver.got()[0].header, "Cookie")
			if row.err == "" {
				status, attempts := in.journal(webhook, event)
				require.Equal(t, "succeeded", status, row.reason)
				require.Equal(t, row.status, attempts[0].StatusCode)
				continue
			}
			live := dbtest.Deliveries(t, in.DB, "webhook_id = $1", webhook)
			require.Len(t, live, 1, row.reason)
			require.Equal(t, []any{row.status, row.err}, lastAttempt(t, live[0]), row.reason)
			require.LessOrEqual(t, live[0].DueAt.Sub(in.Now()), 66*time.Second, row.reason)
		}
	})
}

func lastAttempt(t testing.TB, live dbtest.Delivery) []any {
	t.Helper()
	attempts := attemptsOf(t, live.Attempts)
	last := attempts[len(attempts)-1]
	return []any{last.StatusCode, last.Error}
}

func TestAReceiverThatHangsTimesOut(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		m.newWebhook()
		in.receiver.always(hang)
		m.emit(hook.OrderPaid, 1)
		require.Equal(t, 1, in.worker(func(c *Config) { c.Timeout = 100 * time.Millisecond }).pass(), "attempts that were due and are made")
		require.Equal(t, []any{0, "timeout"}, lastAttempt(t, in.delivery()))
	})
}

func TestAPingIsMadeOnceAndDisablesNothing(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.always(http.StatusInternalServerError)
		w := in.worker()
		ping := m.enqueue(webhook, "ping")
		require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		status, attempts := in.journal(webhook, ping)
		require.Equal(t, "failed", status, "the status in the journal")
		require.Len(t, attempts, 1, "attempts in the journal")
		require.Equal(t, "ping", in.receiver.got()[0].header.Get(signature.EventTypeHeader))
		require.Nil(t, in.Client().Webhook.GetX(m.ctx, webhook).FailingSince, "somebody's test is no failure of a delivery")

		m.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(in.Now().Add(-100 * time.Hour)) })
		ping = m.enqueue(webhook, "ping")
		require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		status, _ = in.journal(webhook, ping)
		require.Equal(t, "failed", status, "the status in the journal")
		require.True(t, in.Client().Webhook.GetX(m.ctx, webhook).Enabled)

		in.receiver.always(http.StatusOK)
		ping = m.enqueue(webhook, "ping")
		require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		status, _ = in.journal(webhook, ping)
		require.Equal(t, "succeeded", status, "the status in the journal")
		require.Nil(t, in.Client().Webhook.GetX(m.ctx, webhook).FailingSince, "any success ends the failing")
	})
}

func TestWhatCannotBeSentIsCancelled(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		become func(m merchant, webhook, event uuid.UUID)
		// claimed is how many deliveries a worker claims before the delivery is cancelled.
		claimed int
	}{
		{"the webhook is disabled", func(m merchant, webhook, _ uuid.UUID) {
			m.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetEnabled(false) })
		}, 0},
		{"the webhook is deleted", func(m merchant, webhook, _ uuid.UUID) { m.exec("DELETE FROM webhooks WHERE id = $1", webhook) }, 0},
		{"the webhook was disabled and enabled again", func(m merchant, webhook, _ uuid.UUID) {
			m.exec("UPDATE webhooks SET epoch = 2 WHERE id = $1", webhook)
		}, 0},
		{"the event is kept no longer", func(m merchant, _, event uuid.UUID) { m.exec("DELETE FROM events WHERE id = $1", event) }, 1},
	}
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		for _, row := range rows {
			webhook := m.newWebhook()
			event := m.enqueue(webhook, hook.OrderPaid)
			row.become(m, webhook, event)
			require.Equal(t, row.claimed, in.worker().pass(), row.reason)
			status, attempts := in.journal(webhook, event)
			require.Equal(t, "cancelled", status, row.reason)
			require.Empty(t, attempts, row.reason)
		}
		require.Empty(t, in.receiver.got())
	})
}

// Only this delivery fails, and lists can show it.
func TestAttemptsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		in.receiver.always(http.StatusInternalServerError)
		events := m.emit(hook.OrderPaid, 2)
		w := in.worker()
		require.Equal(t, 2, w.pass(), "attempts that were due and are made")
		in.exec("UPDATE deliveries SET attempts = $1 WHERE event_id = $2", []byte("[\x00\xff"), events[0])
		in.clock.advance(2 * time.Minute)
		in.receiver.always(http.StatusNoContent)
		require.Equal(t, 2, w.pass(), "attempts that were due and are made")
		for event, want := range map[uuid.UUID]string{events[0]: "failed", events[1]: "succeeded"} {
			status, _ := in.journal(webhook, event)
			require.Equal(t, want, status)
		}
	})
}

func TestASecretThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		webhook := m.newWebhook()
		m.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetSecret([]byte("changed")) })
		m.emit(hook.OrderPaid, 1)
		w := in.worker()
		require.Equal(t, 1, w.pass(), "attempts that were due and are made")
		require.Empty(t, in.receiver.got(), "nothing goes out unsigned")
		live := in.delivery()
		require.Equal(t, []any{0, "signing secret cannot be read"}, lastAttempt(t, live))
		require.Nil(t, in.Client().Webhook.GetX(m.ctx, webhook).FailingSince, "the receiver did nothing wrong")
		in.clock.advance(2 * time.Minute)
		require.Equal(t, 1, w.pass(), "it is tried again, as the operator may have mended it")
	})
}

// The worker delivers to the others, names the webhook, and leaves its deliveries to a worker with the key.
func TestAWebhookUnderAnotherSecretKeyIsSkipped(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		signed, other := m.newWebhook(), m.newWebhook()
		key := newKey(t)
		m.edit(other, func(u *ent.WebhookUpdateOne) {
			secret, id := seal.NewKeyring(key).Seal(in.secrets[other], other[:])
			u.SetSecret(secret).SetSecretKey(id)
		})
		m.emit(hook.OrderPaid, 1)
		var log bytes.Buffer
		w := in.worker(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		require.Contains(t, log.String(), other.String(), "it is named at the start")
		require.NotContains(t, log.String(), signed.String())
		w.pass()
		require.Len(t, in.receiver.got(), 1)
		live := in.delivery()
		require.Equal(t, other, live.WebhookID)
		require.JSONEq(t, "[]", string(live.Attempts), "no attempt of the schedule is used up")
		require.Contains(t, log.String(), "deliveries wait")

		in.ring = seal.NewKeyring(key)
		in.clock.advance(skipDelay + time.Second)
		in.worker().pass()
		require.Len(t, in.receiver.got(), 2)
	})
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	delays := DefaultRetryDelays()
	sum := time.Duration(0)
	for i, delay := range delays {
		sum += delay
		least, more := retryDelay(delays, i+1, 0)
		require.True(t, more)
		require.Equal(t, delay, least, "the shortest wait after attempt %d", i+1)
		most, _ := retryDelay(delays, i+1, 0.999999)
		require.Greater(t, most, delay+delay*9/100, "the longest wait after attempt %d", i+1)
		require.Less(t, most, delay+delay/10+time.Second, "the longest wait after attempt %d", i+1)
	}
	require.Equal(t, 22*time.Hour+21*time.Minute, sum, "the sum of all waits")
	for _, number := range []int{-1, 0, 8, 9} {
		_, more := retryDelay(delays, number, 0)
		require.False(t, more, "attempt %d", number)
	}
}
