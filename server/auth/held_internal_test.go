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

// Two keys share a statement, and somebody holds the counter of one.
func TestALockedCounterHoldsUpNoOtherKey(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{LockTimeout: time.Second})
	now := s.Now()
	shop := tenant.Store{ID: uuid.Must(uuid.NewV7())}
	ctx := tenant.With(t.Context(), shop, tenant.Actor{Type: tenant.ActorOperator})
	var lookups []lookup
	var ids []uuid.UUID
	require.NoError(t, s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		err := tx.Store.Create().SetID(shop.ID).SetName("Kiosk").SetSlug("kiosk").SetURL("https://example.com").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(ctx)
		for range 2 {
			text, key := NewKey(), uuid.Must(uuid.NewV7())
			fingerprint := Fingerprint(text)
			lookups, ids = append(lookups, lookup{fingerprint: fingerprint, client: "10.0.0.1"}), append(ids, key)
			if err == nil {
				err = tx.ApiKey.Create().SetID(key).SetStoreID(shop.ID).SetName("Till").SetFingerprint(fingerprint[:]).
					SetHint(Hint(text)).SetScopes(Scopes()).SetCreatedAt(now).Exec(ctx)
			}
		}
		return err
	}))
	a := newPostgresKeys(s)
	for _, q := range lookups {
		_, err := a.find(t.Context(), q)
		require.NoError(t, err)
	}
	tx, err := s.Writer().Begin()
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec("SELECT 1 FROM rate_counters WHERE id = $1 FOR UPDATE", ids[0])
	require.NoError(t, err)

	b := &batches{alone: a, all: a.findAll, most: 4, busy: true}
	type answer struct {
		found result
		err   error
	}
	answers := [2]chan answer{make(chan answer, 1), make(chan answer, 1)}
	for i, q := range lookups {
		go func() {
			found, err := b.find(t.Context(), q)
			answers[i] <- answer{found, err}
		}()
	}
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.waiting) == 2 {
			b.busy = false
			b.next()
			return true
		}
		return false
	}, time.Second, time.Millisecond)
	free := <-answers[1]
	require.NoError(t, free.err)
	require.Equal(t, 2, free.found.count)
	require.Empty(t, answers[0], "it still waits")
	require.True(t, db.IsLocked((<-answers[0]).err))
}
