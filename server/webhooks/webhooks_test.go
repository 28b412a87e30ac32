package webhooks_test

import (
	"testing"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// bench is the webhooks of one open store, whose context is that of a key called "tests".
type bench struct {
	shoptest.Bench
	*webhooks.Webhooks
}

func newBench(t *testing.T, d *db.DB, o webhooks.Options) bench {
	t.Helper()
	return bench{shoptest.New(t, d, shop.Options{}), webhooks.New(d, o)}
}
