package auth

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// A key that the first statement did not find, for example because its address's minute turned
// before the second one, is looked up again, and not reported as unknown.
func TestAskAgainForAKeyThatExists(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.SQLite, db.Config{})
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	text, shop := NewKey(), tenant.Store{ID: uuid.Must(uuid.NewV7())}
	q := lookup{fingerprint: Fingerprint(text), client: "203.0.113.7", now: &now}
	ctx := tenant.With(t.Context(), shop, tenant.Actor{Type: tenant.ActorOperator})
	require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		err := tx.Store.Create().SetID(shop.ID).SetName("Kiosk").SetSlug("kiosk").SetURL("https://example.com").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx)
		if err != nil {
			return err
		}
		return tx.ApiKey.Create().SetStoreID(shop.ID).SetName("Till").SetFingerprint(q.fingerprint[:]).
			SetHint(Hint(text)).SetScopes(Scopes()).SetCreatedAt(now).Exec(ctx)
	}))

	blind := newSQLiteKeys(s)
	blind.known = "SELECT ?1, ?2, ?3 WHERE ?4 IS NULL"
	_, err := blind.find(ctx, q)
	require.ErrorContains(t, err, "found and not found")
	require.Equal(t, 1, dbtest.Count(t, s, "address_counters WHERE count = 2"), "it asked twice")

	found, err := newSQLiteKeys(s).find(ctx, q)
	require.NoError(t, err)
	require.True(t, found.known)
}
