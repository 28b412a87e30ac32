package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// CreateProduct creates a product of a store. It refuses with store_not_found and as
// shop.CreateProduct does.
func (o *Operator) CreateProduct(ctx context.Context, storeName string, d service.ProductDraft) (*storefrontv1.Product, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.CreateProduct(ctx, d)
}

// ListProducts returns a page of a store's products, newest first. It refuses with store_not_found
// or validation_failed.
func (o *Operator) ListProducts(ctx context.Context, storeName string, in *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListProducts(ctx, in)
}

// GetProduct returns a product. It refuses with product_not_found.
func (o *Operator) GetProduct(ctx context.Context, in *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	ctx, err := o.inProduct(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.GetProduct(ctx, in)
}

// UpdateProduct changes the named fields of a product, those of the operator's side included. It
// refuses as shop.ChangeProduct does.
func (o *Operator) UpdateProduct(ctx context.Context, id string, c service.ProductChange) (*storefrontv1.Product, error) {
	ctx, err := o.inProduct(ctx, id)
	if err != nil {
		return nil, err
	}
	return o.shop.ChangeProduct(ctx, id, c)
}

// inProduct is In for the store that owns the product.
func (o *Operator) inProduct(ctx context.Context, id string) (context.Context, error) {
	return o.inOwner(ctx, id, apierr.ProductNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Product.Query().Where(product.ID(id)).QueryStore()
	})
}
