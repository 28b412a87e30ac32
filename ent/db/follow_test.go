package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// An event wakes only the followers of its own store, even without a webhook for it.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		one, other := uuid.New(), uuid.New()
		ctx, stop := context.WithCancel(t.Context())
		first, second, others := d.FollowEvents(ctx, one), d.FollowEvents(t.Context(), one), d.FollowEvents(t.Context(), other)
		commit := func(events int) {
			require.NoError(t, hook.Run(tenant.With(t.Context(), tenant.Store{ID: one}, tenant.Actor{}), d,
				func(c *hook.Change) error {
					return c.Tx.Event.MapCreateBulk(make([]struct{}, events), func(create *ent.EventCreate, _ int) {
						create.SetStoreID(one).SetType(hook.Ping).SetPayload([]byte("{}")).SetCreatedAt(c.Time())
					}).Exec(c)
				}))
		}
		commit(0)
		require.Empty(t, first, "no event")
		commit(2)
		require.Len(t, first, 1, "one value for both")
		require.Len(t, second, 1)
		require.Empty(t, others)
		<-first
		<-second
		stop()
		require.Eventually(t, func() bool {
			commit(1)
			if len(first) == 0 {
				return true
			}
			<-first
			return false
		}, hang, time.Millisecond, "it ended with its context")
		require.Len(t, second, 1)
	})
}
