package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// CreateKey creates an API key of a store; its text is in the answer this once. It refuses with
// store_not_found, validation_failed or api_key_limit.
func (o *Operator) CreateKey(ctx context.Context, storeName string, d shop.KeyDraft) (shop.Key, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return shop.Key{}, err
	}
	return o.shop.CreateKey(ctx, d)
}

// ListKeys returns the newest keys of a store, at most limit. It refuses with store_not_found.
func (o *Operator) ListKeys(ctx context.Context, storeName string, limit int) ([]shop.Key, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListKeys(ctx, limit)
}

// RevokeKey revokes a key for good; revoking a revoked key changes nothing. It refuses with
// api_key_not_found.
func (o *Operator) RevokeKey(ctx context.Context, id string) (shop.Key, error) {
	ctx, err := o.inOwner(ctx, id, refusal.APIKeyNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().ApiKey.Query().Where(apikey.ID(id)).QueryStore()
	})
	if err != nil {
		return shop.Key{}, err
	}
	return o.shop.RevokeKey(ctx, id)
}
