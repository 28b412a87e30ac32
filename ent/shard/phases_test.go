package shard_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
)

// A change of a store's rows commits on its node only. A change of a row on the coordinator commits in two phases with its
// journal entry, which Citus records in pg_dist_transaction.
func TestWhatCommitsOnTwoNodesDoesSoInTwoPhases(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	store, webhook, customer := uuid.New(), uuid.New(), uuid.New()
	ctx := tenant.With(t.Context(), tenant.Store{ID: store, Slug: "atelier", Currency: "XAF"}, tenant.Actor{Type: tenant.ActorOperator})
	for _, row := range []struct {
		change    string
		twoPhases int
		run       func(c *hook.Change) error
	}{
		{"a store", 1, func(c *hook.Change) error {
			now := c.Time()
			return c.Tx.Store.Create().SetID(store).SetName("Atelier").SetSlug("atelier").SetURL("https://shop.example").
				SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
		}},
		{"a webhook", 1, func(c *hook.Change) error {
			now := c.Time()
			return c.Tx.Webhook.Create().SetID(webhook).SetStoreID(store).SetURL("https://receiver.example").
				SetEvents([]string{hook.CustomerCreated}).SetSecret([]byte("sealed")).SetSecretKey("key").
				SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
		}},
		{"a customer", 0, func(c *hook.Change) error {
			now := c.Time()
			return c.Tx.Customer.Create().SetID(customer).SetStoreID(store).SetEmail("a@example.com").SetSearch("").
				SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
		}},
	} {
		// Citus deletes records once a minute, so compare ids and not numbers.
		var before string
		require.NoError(t, d.Reader().QueryRow("SELECT COALESCE(array_agg(gid), '{}') FROM pg_dist_transaction").Scan(&before))
		require.NoError(t, hook.Run(ctx, d, row.run), row.change)
		require.Equal(t, row.twoPhases, dbtest.Count(t, d, "pg_dist_transaction WHERE gid <> ALL ($1::text[])", before), row.change)
	}
	require.Equal(t, 1, dbtest.Count(t, d, "outbox WHERE store_id = $1", store))
	require.Equal(t, 3, dbtest.Count(t, d, "activity_entries WHERE store_id = $1", store))
}
