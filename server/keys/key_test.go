package keys_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/idempotency"
	"go.storefront.example/server/keys"
	"go.storefront.example/server/service"
)

// bench is the keys of one open store, whose context is that of a key called "tests".
type bench struct {
	*keys.Keys
	store *db.DB
	ctx   context.Context
	t     *testing.T
}

func newBench(t *testing.T, s *db.DB) bench {
	t.Helper()
	b := bench{Keys: keys.New(s), store: s, t: t}
	b.ctx = b.newStore("atelier")
	return b
}

// newStore creates a store and returns a context in which a key acts on it.
func (b bench) newStore(slug string) context.Context {
	b.t.Helper()
	rules := service.New(b.store, service.Options{})
	_, err := rules.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}, &adminv1.CreateStoreRequest{
		Name: "Atelier", Slug: slug, Currency: "XAF", Country: "CM",
	})
	require.NoError(b.t, err)
	found, err := rules.FindStore(context.Background(), slug)
	require.NoError(b.t, err)
	return tenant.With(context.Background(), found, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "tests"})
}

// journal returns the store's journal entries, oldest first.
func (b bench) journal() []*ent.ActivityEntry {
	b.t.Helper()
	entries, err := b.store.Client().ActivityEntry.Query().Order(activityentry.ByID()).All(b.ctx)
	require.NoError(b.t, err)
	return entries
}

// refused asserts the code of a refusal and returns it.
func refused(t *testing.T, err error, code apierr.Code) *apierr.Refusal {
	t.Helper()
	var r *apierr.Refusal
	require.True(t, errors.As(err, &r), "want %s, got %v", code, err)
	require.Equal(t, code, r.Code, r.Message)
	return r
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
				_, err := b.CreateKey(b.ctx, wrong)
				refused(t, err, apierr.ValidationFailed)
			}
			first, err := b.CreateKey(b.ctx, draft)
			require.NoError(t, err)
			require.Equal(t, []string{"orders:read", "products:write"}, first.Scopes)
			require.Equal(t, now.Add(30*24*time.Hour), first.ExpiresAt.UTC())
			for range keys.MaxActive - 1 {
				_, err = b.CreateKey(b.ctx, keys.Draft{Name: "more", Scopes: draft.Scopes, Lifetime: adminv1.Key_NEVER})
				require.NoError(t, err)
			}
			_, err = b.CreateKey(b.ctx, draft)
			refused(t, err, apierr.APIKeyLimit)

			now = now.Add(30 * 24 * time.Hour)
			second, err := b.CreateKey(b.ctx, draft)
			require.NoError(t, err, "an expired key is not active")
			_, err = b.CreateKey(b.ctx, draft)
			refused(t, err, apierr.APIKeyLimit)
			for range 2 {
				revoked, err := b.RevokeKey(b.ctx, second.ID.String())
				require.NoError(t, err)
				require.NotNil(t, revoked.RevokedAt)
			}
			_, err = b.CreateKey(b.ctx, draft)
			require.NoError(t, err, "a revoked key is not active")
			_, err = b.RevokeKey(b.newStore("other"), first.ID.String())
			refused(t, err, apierr.APIKeyNotFound)
			for _, e := range b.journal() {
				require.NotContains(t, string(e.Changes), first.Text)
			}
		})
	}
}

func TestAKeyIsFoundInItsStoreOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		k, err := b.CreateKey(b.ctx, keys.Draft{Name: "crm", Scopes: []string{"store:read"}, Lifetime: adminv1.Key_DAYS_30})
		require.NoError(t, err)
		found, err := b.GetKey(b.ctx, k.ID.String())
		require.NoError(t, err)
		require.Equal(t, k.Hint, found.Hint)
		_, err = b.GetKey(b.newStore("other"), k.ID.String())
		refused(t, err, apierr.APIKeyNotFound)
		for _, id := range []string{"", "x", uuid.NewString(), "{" + k.ID.String() + "}"} {
			_, err = b.GetKey(b.ctx, id)
			refused(t, err, apierr.APIKeyNotFound)
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
			_, err := b.CreateKey(b.ctx, draft)
			require.NoError(t, err)
		}
		tenth := idempotency.With(b.ctx, "form")
		_, err := b.CreateKey(tenth, draft)
		require.NoError(t, err)
		_, err = b.CreateKey(tenth, draft)
		refused(t, err, apierr.IdempotencyKeyReused)
		_, err = b.CreateKey(b.ctx, draft)
		refused(t, err, apierr.APIKeyLimit)
	})
}
