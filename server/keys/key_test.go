package keys_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/idempotency"
	"go.storefront.example/server/keys"
	"go.storefront.example/server/service"
	"go.storefront.example/server/service/servicetest"
)

// bench is the keys of one open store, whose context is that of a key called "tests".
type bench struct {
	servicetest.Bench
	*keys.Keys
}

func newBench(t *testing.T, s *db.DB) bench {
	t.Helper()
	return bench{servicetest.New(t, s, service.Options{}), keys.New(s)}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: func() time.Time { return now }}))
			draft := keys.Draft{Name: "till", Scopes: []string{"products:write", "orders:read", "orders:read"}, Lifetime: adminv1.Key_DAYS_30}
			for _, wrong := range []keys.Draft{
				{Name: " ", Scopes: draft.Scopes, Lifetime: adminv1.Key_DAYS_30}, {Name: "a", Lifetime: adminv1.Key_DAYS_30},
				{Name: "a", Scopes: []string{"orders:write"}, Lifetime: adminv1.Key_DAYS_30}, {Name: "a", Scopes: draft.Scopes, Lifetime: adminv1.Key_LIFETIME_UNSPECIFIED},
			} {
				_, err := b.CreateKey(b.Ctx, wrong)
				servicetest.Refused(t, err, apierr.ValidationFailed)
			}
			first, err := b.CreateKey(b.Ctx, draft)
			require.NoError(t, err)
			require.Equal(t, []string{"orders:read", "products:write"}, first.Scopes)
			require.Equal(t, now.Add(30*24*time.Hour), first.ExpiresAt.UTC())
			for range keys.MaxActive - 1 {
				_, err = b.CreateKey(b.Ctx, keys.Draft{Name: "more", Scopes: draft.Scopes, Lifetime: adminv1.Key_NEVER})
				require.NoError(t, err)
			}
			_, err = b.CreateKey(b.Ctx, draft)
			servicetest.Refused(t, err, apierr.APIKeyLimit)

			now = now.Add(30 * 24 * time.Hour)
			second, err := b.CreateKey(b.Ctx, draft)
			require.NoError(t, err, "an expired key is not active")
			_, err = b.CreateKey(b.Ctx, draft)
			servicetest.Refused(t, err, apierr.APIKeyLimit)
			for range 2 {
				revoked, err := b.RevokeKey(b.Ctx, second.ID.String())
				require.NoError(t, err)
				require.NotNil(t, revoked.RevokedAt)
			}
			_, err = b.CreateKey(b.Ctx, draft)
			require.NoError(t, err, "a revoked key is not active")
			_, err = b.RevokeKey(b.NewStore("other"), first.ID.String())
			servicetest.Refused(t, err, apierr.APIKeyNotFound)
			for _, e := range b.Journal() {
				require.NotContains(t, string(e.Changes), first.Text)
			}
		})
	}
}

func TestAKeyIsFoundInItsStoreOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		k, err := b.CreateKey(b.Ctx, keys.Draft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30})
		require.NoError(t, err)
		found, err := b.GetKey(b.Ctx, k.ID.String())
		require.NoError(t, err)
		require.Equal(t, k.Hint, found.Hint)
		_, err = b.GetKey(b.NewStore("other"), k.ID.String())
		servicetest.Refused(t, err, apierr.APIKeyNotFound)
		for _, id := range []string{"", "x", uuid.NewString(), "{" + k.ID.String() + "}"} {
			_, err = b.GetKey(b.Ctx, id)
			servicetest.Refused(t, err, apierr.APIKeyNotFound)
		}
	})
}

// The limit refuses who is one too many, and not who asks again for the last one.
func TestAskingAgainIsNotRefusedForTheLimit(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		draft := keys.Draft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30}
		for range keys.MaxActive - 1 {
			_, err := b.CreateKey(b.Ctx, draft)
			require.NoError(t, err)
		}
		tenth := idempotency.With(b.Ctx, "form")
		_, err := b.CreateKey(tenth, draft)
		require.NoError(t, err)
		_, err = b.CreateKey(tenth, draft)
		servicetest.Refused(t, err, apierr.IdempotencyKeyReused)
		_, err = b.CreateKey(b.Ctx, draft)
		servicetest.Refused(t, err, apierr.APIKeyLimit)
	})
}
