package importtest

import (
	"context"
	"io"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/importing"
)

// Load imports a file into the context's store.
func Load(ctx context.Context, s *db.DB, in io.Reader, o importing.Options) (*importing.Report, error) {
	t, _, _ := tenant.From(ctx)
	o.Store = &storefrontv1.Store{Id: t.ID.String(), Slug: t.Slug, Currency: t.Currency, Country: t.Country}
	return importing.Load(ctx, admin.New(s, admin.Options{}), in, o)
}
