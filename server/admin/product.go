package admin

import (
	"context"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/product"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// CreateProduct creates a product of a store. It refuses with store_not_found and as
// shop.CreateProduct does.
func (o *Operator) CreateProduct(ctx context.Context, in *adminv1.CreateProductRequest) (*storefrontv1.Product, error) {
	return callInStore(ctx, o, in.GetStore(), in, o.shop.CreateProduct)
}

// ListProducts returns a page of a store's products, newest first. It refuses with store_not_found
// or validation_failed.
func (o *Operator) ListProducts(ctx context.Context, in *adminv1.ListProductsRequest) (*storefrontv1.ListProductsResponse,
	error) {
	return callInStore(ctx, o, in.GetStore(), &storefrontv1.ListProductsRequest{
		Page: in.Page, PageSize: in.PageSize, Q: in.Q, Status: in.Status, Type: in.Type,
	}, o.shop.ListProducts)
}

// GetProduct returns a product. It refuses with product_not_found.
func (o *Operator) GetProduct(ctx context.Context, in *adminv1.GetProductRequest) (*storefrontv1.Product, error) {
	return callInRowStore(ctx, o, productKind, in, &storefrontv1.GetProductRequest{Id: in.GetId()}, o.shop.GetProduct)
}

// FindProduct finds a product by id, or in a store by its slug or a part of the id. It refuses with store_not_found or
// product_not_found.
func (o *Operator) FindProduct(ctx context.Context, in *adminv1.FindProductRequest) (*storefrontv1.Product, error) {
	ctx, id, err := o.find(ctx, productKind, in, func(tenant.Store) (string, string) { return product.FieldSlug, in.GetName() })
	if err != nil {
		return nil, err
	}
	return o.GetProduct(ctx, &adminv1.GetProductRequest{Id: id})
}

// UpdateProduct changes the named fields of a product, including fields that the public API cannot change. It refuses as
// shop.UpdateProduct does.
func (o *Operator) UpdateProduct(ctx context.Context, in *adminv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	return callInRowStore(ctx, o, productKind, in, in, o.shop.UpdateProductAsOperator)
}
