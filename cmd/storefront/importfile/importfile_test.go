package importfile_test

import (
	"context"
	"io"
	"testing"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func ptr[T any](v T) *T { return &v }

// newBench returns a new open store. Requests in bench.Ctx are made with an API key called "tests".
func newBench(t *testing.T, d *db.DB) bench {
	t.Helper()
	return bench{shoptest.New(t, d, shop.Options{})}
}

type bench struct{ shoptest.Bench }

func load(ctx context.Context, d *db.DB, in io.Reader, o importfile.Options) (*importfile.Report, error) {
	t, _, _ := tenant.From(ctx)
	o.Store = &storefrontv1.Store{Id: t.ID.String(), Slug: t.Slug, Currency: t.Currency, Country: t.Country}
	return importfile.Load(ctx, admin.New(d, admin.Options{}), in, o)
}
