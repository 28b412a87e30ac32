package shop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// rules are the operations on stores and webhooks through one server.
type rules struct {
	*shop.Shop
	*webhooks.Webhooks
}

func newRules(t *testing.T, d *db.DB, o shop.Options) *rules {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return &rules{shop.New(d, o), webhooks.New(d, webhooks.Options{Secrets: seal.NewKeyring(key)})}
}

// bench is a database with one store, and the operations on it. Its context acts as an API key called "tests".
type bench struct {
	shoptest.Bench
	*webhooks.Webhooks
}

func ptr[T any](v T) *T { return &v }

func newBench(t *testing.T, d *db.DB, o shop.Options) bench {
	t.Helper()
	all := newRules(t, d, o)
	return bench{shoptest.New(t, d, o), all.Webhooks}
}
