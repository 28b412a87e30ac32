package admin

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// CreateProduct creates a product of a store.
func (o *Operator) CreateProduct(ctx context.Context, in *adminv1.CreateProductRequest) (*storefrontv1.Product, error) {
	return callInStore(ctx, o, in.GetStore(), in, o.shop.CreateProduct)
}

// SetProductContent sets the fields of a product that callers cannot set.
func (o *Operator) SetProductContent(ctx context.Context, in *adminv1.SetProductContentRequest) (*storefrontv1.Product, error) {
	ctx, err := o.withRowStore(ctx, productKind, in.GetStore(), in.GetProduct().GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.SetProductContent(ctx, in)
}
