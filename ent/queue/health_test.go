package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
)

const hangGuard = time.Minute

// A failure days after a success that the lock kept from being marked does not disable the webhook.
func TestASuccessUnderALockIsNotForgotten(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, c *handClock) {
		o := newOutlet(t, d, "atelier")
		q := queue.New(d)
		began := d.Now()
		o.edit(o.webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(began) })
		c.advance(time.Hour)
		succeeded := o.leased(q, o.webhook)
		// While the row is locked, the outcome is stored and failing_since stays.
		o.finish(q, queue.Outcome{Delivery: succeeded, Attempt: answer(1, d.Now(), 204), Status: queue.Succeeded})
		o.edit(o.webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(began) })

		c.advance(patience)
		failed := o.leased(q, o.webhook)
		o.finish(q, queue.Outcome{Delivery: failed, Attempt: answer(1, d.Now(), 500), Status: queue.Pending, Delay: time.Minute,
			CountsAsFailure: true})
		disabled, err := q.Disable(o.ctx, o.owner, o.webhook, patience)
		require.NoError(t, err)
		require.False(t, disabled)
		require.True(t, d.Now().Equal(*o.failingSince(o.webhook)), "the failures begin now")

		c.advance(patience)
		disabled, err = q.Disable(o.ctx, o.owner, o.webhook, patience)
		require.NoError(t, err)
		require.True(t, disabled)
	})
}

// It delays results neither of this webhook nor of others.
func TestALockOnAWebhookHoldsNothingUp(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{Settings: queue.Settings()})
	o := newOutlet(t, d, "atelier")
	q := queue.New(d)
	began, other, relapsed := d.Now().Add(-100*time.Hour), o.newWebhook(), o.newWebhook()
	for _, webhook := range []uuid.UUID{o.webhook, other, relapsed} {
		o.edit(webhook, func(u *ent.WebhookUpdateOne) { u.SetFailingSince(began) })
	}
	success := func(webhook uuid.UUID) queue.Outcome {
		return queue.Outcome{Delivery: o.leased(q, webhook), Attempt: answer(1, d.Now(), 204), Status: queue.Succeeded}
	}
	failure := func(webhook uuid.UUID) queue.Outcome {
		return queue.Outcome{Delivery: o.leased(q, webhook), Attempt: answer(1, d.Now(), 500), Status: queue.Pending,
			Delay: time.Minute, CountsAsFailure: true}
	}
	ctx, cancel := context.WithTimeout(o.ctx, hangGuard)
	defer cancel()
	holder, err := d.Writer().BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = holder.ExecContext(ctx, "SELECT 1 FROM webhooks WHERE id IN ($1, $2) FOR UPDATE", o.webhook, relapsed)
	require.NoError(t, err)
	finish := func(outcomes ...queue.Outcome) {
		t.Helper()
		lost, err := q.Finish(ctx, outcomes)
		require.NoError(t, err)
		require.Zero(t, lost)
	}
	finish(success(o.webhook), success(other), success(relapsed))
	require.Nil(t, o.failingSince(other))
	finish(failure(relapsed))
	disabled, err := q.Disable(ctx, o.owner, o.webhook, patience)
	require.NoError(t, err)
	require.False(t, disabled, "the next failure does it")
	require.NoError(t, holder.Rollback())

	require.NotNil(t, o.failingSince(o.webhook), "its success was not marked")
	finish(success(o.webhook), success(relapsed))
	require.Nil(t, o.failingSince(o.webhook), "its next outcome does it")
	require.Nil(t, o.failingSince(relapsed))
}
