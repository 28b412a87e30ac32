package webhooks_test

import (
	"testing"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// bench is a store and the operations on its webhooks. Its context acts as an API key called "tests".
type bench struct {
	shoptest.Bench
	*webhooks.Webhooks
}

func newBench(t *testing.T, d *db.DB, o webhooks.Options) bench {
	t.Helper()
	return bench{shoptest.New(t, d, shop.Options{}), webhooks.New(d, o)}
}
