package shop_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
			b := shoptest.New(t, dbtest.New(t, database, db.Config{Clock: func() time.Time { return now }}), shop.Options{})
			draft := shop.KeyDraft{Name: "till", Scopes: []string{"products:write", "orders:read", "orders:read"},
				Lifetime: adminv1.Key_DAYS_30}
			for _, wrong := range []shop.KeyDraft{
				{Name: " ", Scopes: draft.Scopes, Lifetime: adminv1.Key_DAYS_30}, {Name: "a", Lifetime: adminv1.Key_DAYS_30},
				{Name: "a", Scopes: []string{"orders:write"}, Lifetime: adminv1.Key_DAYS_30}, {Name: "a", Scopes: draft.Scopes,
					Lifetime: adminv1.Key_LIFETIME_UNSPECIFIED},
			} {
				_, err := b.CreateKey(b.Ctx, wrong)
				shoptest.Refused(t, err, apierr.ValidationFailed)
			}
			first, err := b.CreateKey(b.Ctx, draft)
			require.NoError(t, err)
			require.Equal(t, []string{"orders:read", "products:write"}, first.Scopes)
			require.Equal(t, now.Add(30*24*time.Hour), first.ExpiresAt.UTC())
			for range shop.MaxActiveKeys - 1 {
				_, err = b.CreateKey(b.Ctx, shop.KeyDraft{Name: "more", Scopes: draft.Scopes, Lifetime: adminv1.Key_NEVER})
				require.NoError(t, err)
			}
			_, err = b.CreateKey(b.Ctx, draft)
			shoptest.Refused(t, err, apierr.APIKeyLimit)

			now = now.Add(30 * 24 * time.Hour)
			second, err := b.CreateKey(b.Ctx, draft)
			require.NoError(t, err, "an expired key is not active")
			_, err = b.CreateKey(b.Ctx, draft)
			shoptest.Refused(t, err, apierr.APIKeyLimit)
			for range 2 {
				revoked, err := b.RevokeKey(b.Ctx, second.ID.String())
				require.NoError(t, err)
				require.NotNil(t, revoked.RevokedAt)
			}
			_, err = b.CreateKey(b.Ctx, draft)
			require.NoError(t, err, "a revoked key is not active")
			_, err = b.RevokeKey(b.NewStore("other"), first.ID.String())
			shoptest.Refused(t, err, apierr.APIKeyNotFound)
			for _, e := range b.Journal() {
				require.NotContains(t, string(e.Changes), first.Text)
			}
		})
	}
}

func TestAKeyIsFoundInItsStoreOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := shoptest.New(t, d, shop.Options{})
		k, err := b.CreateKey(b.Ctx, shop.KeyDraft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30})
		require.NoError(t, err)
		found, err := b.GetKey(b.Ctx, k.ID.String())
		require.NoError(t, err)
		require.Equal(t, k.Hint, found.Hint)
		_, err = b.GetKey(b.NewStore("other"), k.ID.String())
		shoptest.Refused(t, err, apierr.APIKeyNotFound)
		for _, id := range []string{"", "x", uuid.NewString(), "{" + k.ID.String() + "}"} {
			_, err = b.GetKey(b.Ctx, id)
			shoptest.Refused(t, err, apierr.APIKeyNotFound)
		}
	})
}

// With ten active keys, a new request for a key is refused with api_key_limit. The repeated request for the tenth key is
// refused with idempotency_key_reused instead.
func TestAskingAgainIsNotRefusedForTheLimit(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := shoptest.New(t, d, shop.Options{})
		draft := shop.KeyDraft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30}
		for range shop.MaxActiveKeys - 1 {
			_, err := b.CreateKey(b.Ctx, draft)
			require.NoError(t, err)
		}
		tenth := tenant.WithIdempotencyKey(b.Ctx, "form")
		_, err := b.CreateKey(tenth, draft)
		require.NoError(t, err)
		_, err = b.CreateKey(tenth, draft)
		shoptest.Refused(t, err, apierr.IdempotencyKeyReused)
		_, err = b.CreateKey(b.Ctx, draft)
		shoptest.Refused(t, err, apierr.APIKeyLimit)
	})
}
