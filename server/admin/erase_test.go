package admin_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

// UpdateStore cannot open the store. RestoreStore opens it during the grace, but not afterwards.
func TestAStoreIsDeletedAfterItsGrace(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		clock := shoptest.NewClock()
		w := newTwo(t, dbtest.New(t, database, db.Config{Clock: clock.Now}))
		ctx := t.Context()
		deleteTwo := func(in *adminv1.DeleteStoreRequest) (time.Time, error) {
			in.Store = "two"
			set, err := w.DeleteStore(ctx, in)
			return set.GetDeleteAt().AsTime(), err
		}
		_, err := deleteTwo(&adminv1.DeleteStoreRequest{GraceSeconds: new(int64(0))})
		require.Equal(t, apierr.ValidationFailed, codeOf(err), "without the slug once more")
		_, err = deleteTwo(&adminv1.DeleteStoreRequest{ConfirmSlug: "one"})
		require.Equal(t, apierr.ValidationFailed, codeOf(err))
		_, err = deleteTwo(&adminv1.DeleteStoreRequest{GraceSeconds: new(int64(-1))})
		require.Equal(t, apierr.ValidationFailed, codeOf(err))
		shown, err := w.GetStore(shoptest.In(t, ctx, w, "two"), &storefrontv1.GetStoreRequest{})
		require.NoError(t, err)
		require.Equal(t, storefrontv1.Store_open, shown.GetStatus(), "nothing was changed")

		at, err := deleteTwo(&adminv1.DeleteStoreRequest{})
		require.NoError(t, err)
		require.WithinDuration(t, clock.Now().Add(30*24*time.Hour), at, time.Second)
		shown, err = w.GetStore(shoptest.In(t, ctx, w, "two"), &storefrontv1.GetStoreRequest{})
		require.NoError(t, err)
		require.Equal(t, storefrontv1.Store_closed, shown.GetStatus())
		_, err = w.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "two", Status: storefrontv1.Store_open.Enum()})
		require.Equal(t, apierr.StoreBeingDeleted, codeOf(err))
		_, err = w.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "two", Name: new("Deux")})
		require.NoError(t, err)

		restored, err := w.RestoreStore(ctx, &adminv1.RestoreStoreRequest{Store: "two"})
		require.NoError(t, err)
		require.Equal(t, storefrontv1.Store_open, restored.GetStatus())
		set, err := w.GetStoreSettings(ctx, &adminv1.GetStoreSettingsRequest{Store: "two"})
		require.NoError(t, err)
		require.Nil(t, set.GetSettings().GetDeleteAt())

		_, err = deleteTwo(&adminv1.DeleteStoreRequest{GraceSeconds: new(int64(60))})
		require.NoError(t, err)
		clock.Advance(time.Hour)
		_, err = w.RestoreStore(ctx, &adminv1.RestoreStoreRequest{Store: "two"})
		require.Equal(t, apierr.StoreBeingDeleted, codeOf(err), "the grace is over")
		list, err := w.ListStores(ctx, &adminv1.ListStoresRequest{})
		require.NoError(t, err)
		require.Len(t, list.GetDeletions(), 1)
	}
}
