package importtest

import (
	"context"
	"io"

	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/importing"
	"go.storefront.example/server/importing/file"
)

// direct imports into the context's store.
type direct struct{ *importing.Importer }

func (d direct) ImportProducts(ctx context.Context, in *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error) {
	return d.Products(ctx, in)
}

func (d direct) ImportCustomers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	return d.Customers(ctx, in)
}

func (d direct) ImportOrders(ctx context.Context, in *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error) {
	return d.Orders(ctx, in)
}

// Load imports a file into the context's store.
func Load(ctx context.Context, m *importing.Importer, in io.Reader, o file.Options) (file.Progress, error) {
	t, _, _ := tenant.From(ctx)
	o.Store = &storefrontv1.Store{Id: t.ID.String(), Slug: t.Slug, Currency: t.Currency}
	return file.Load(ctx, direct{m}, in, o)
}
