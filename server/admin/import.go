package admin

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/importing"
)

// ImportProducts imports a batch of products into a store. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ImportProducts(ctx context.Context, in *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error) {
	return inStore(ctx, o, in.GetStore(), in, importing.New(o.db).Products)
}

// ImportCustomers imports a batch of customers into a store. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ImportCustomers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	return inStore(ctx, o, in.GetStore(), in, importing.New(o.db).Customers)
}

// ImportOrders imports a batch of orders into a store. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ImportOrders(ctx context.Context, in *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error) {
	return inStore(ctx, o, in.GetStore(), in, importing.New(o.db).Orders)
}

// FinishImport writes the notice that an import has ended. It refuses with store_not_found or validation_failed.
func (o *Operator) FinishImport(ctx context.Context, in *adminv1.FinishImportRequest) (*adminv1.FinishImportResponse, error) {
	return inStore(ctx, o, in.GetStore(), in, importing.New(o.db).Finish)
}
