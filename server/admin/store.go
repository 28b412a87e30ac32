package admin

import (
	"context"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

// CreateStore creates a store. It refuses with validation_failed, phone_invalid or slug_taken.
func (o *Operator) CreateStore(ctx context.Context, d service.StoreDraft) (*storefrontv1.Store, error) {
	return o.shop.CreateStore(ctx, actorOf(ctx), d)
}

// ListStores returns the newest stores, at most limit.
func (o *Operator) ListStores(ctx context.Context, limit int) ([]*storefrontv1.Store, error) {
	return o.shop.ListStores(ctx, limit)
}

// GetStore returns the store with this slug or id. It refuses with store_not_found.
func (o *Operator) GetStore(ctx context.Context, name string) (*storefrontv1.Store, error) {
	ctx, err := o.In(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.shop.GetStore(ctx)
}

// UpdateStore changes the named fields of a store. It refuses with store_not_found,
// validation_failed or phone_invalid.
func (o *Operator) UpdateStore(ctx context.Context, name string, c service.StoreChange) (*storefrontv1.Store, error) {
	ctx, err := o.In(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.shop.UpdateStore(ctx, c)
}
