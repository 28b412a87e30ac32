package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// CreateProduct creates a product of a store. It refuses with store_not_found and as
// shop.CreateProduct does.
func (o *Operator) CreateProduct(ctx context.Context, storeName string, d shop.ProductDraft) (*storefrontv1.Product, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.CreateProduct(ctx, d)
}

// UpdateProduct changes the named fields of a product, those of the operator's side included. It
// refuses as shop.ChangeProduct does.
func (o *Operator) UpdateProduct(ctx context.Context, id string, c shop.ProductChange) (*storefrontv1.Product, error) {
	ctx, err := o.inOwner(ctx, id, refusal.ProductNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Product.Query().Where(product.ID(id)).QueryStore()
	})
	if err != nil {
		return nil, err
	}
	return o.shop.ChangeProduct(ctx, id, c)
}
