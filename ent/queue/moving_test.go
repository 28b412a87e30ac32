package queue_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// From Draining on, workers leave alone what a store has, and from Frozen on nothing of it changes; other stores go on.
func TestAStoreThatMovesIsLeftAlone(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "a store on Citus does not move")
	forEach(t, 0, func(t *testing.T, s *db.DB, _ *handClock) {
		o := newOutlet(t, s, "atelier")
		all := func(queue.Lane) bool { return true }
		o.put(o.webhook, s.Now(), false)
		o.emit(hook.OrderPaid)
		resend := o.order(s.Now())
		want := queue.Want{Lane: o.lane(o.webhook, false), Max: 10}
		change := func() error {
			return s.WithTx(o.ctx, func(ctx context.Context, tx *ent.Tx) error {
				hook.Record(ctx, "store.updated", "store", o.owner)
				return nil
			})
		}
		for _, step := range []string{tenant.Draining, tenant.Frozen, tenant.Moved, tenant.Arriving} {
			o.exec("UPDATE stores SET moving = $1 WHERE id = $2", step, o.owner)
			q := queue.On(s)
			require.Empty(t, o.claim(q, want), step)
			require.Zero(t, o.relay(q, 10, all).Entries, step)
			found, err := queue.UnfinishedResends(o.ctx, s, 10)
			require.NoError(t, err)
			require.Empty(t, found, step)
			_, err = queue.StepResend(context.Background(), s, resend.ID)
			require.ErrorIs(t, err, queue.ErrNoResend, step)
			waiting, err := queue.ReadBacklog(o.ctx, s)
			require.NoError(t, err)
			here := step != tenant.Moved // what has moved is sent elsewhere
			require.Equal(t, [2]bool{here, here}, [2]bool{waiting.First > 0, waiting.Outbox > 0}, step)
			if step == tenant.Draining {
				require.NoError(t, change(), step)
			} else {
				require.ErrorIs(t, change(), hook.ErrMoving, step)
			}
		}
		o.exec("UPDATE stores SET moving = $1 WHERE id = $2", tenant.Copying, o.owner)
		require.NoError(t, change())
		require.Len(t, o.claim(queue.On(s), want), 1)
		require.Equal(t, 1, o.relay(queue.On(s), 10, all).Entries)
	})
}
