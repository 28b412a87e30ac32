package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// CreateKey creates an API key of a store; its text is in the answer this once. It refuses with
// store_not_found, validation_failed or api_key_limit.
func (o *Operator) CreateKey(ctx context.Context, storeName string, d service.KeyDraft) (service.Key, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return service.Key{}, err
	}
	return o.shop.CreateKey(ctx, d)
}

// ListKeys returns the newest keys of a store, at most limit. It refuses with store_not_found.
func (o *Operator) ListKeys(ctx context.Context, storeName string, limit int) ([]service.Key, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListKeys(ctx, limit)
}

// RevokeKey revokes a key for good; revoking a revoked key changes nothing. It refuses with
// api_key_not_found.
func (o *Operator) RevokeKey(ctx context.Context, id string) (service.Key, error) {
	ctx, err := o.inOwner(ctx, id, apierr.APIKeyNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().ApiKey.Query().Where(apikey.ID(id)).QueryStore()
	})
	if err != nil {
		return service.Key{}, err
	}
	return o.shop.RevokeKey(ctx, id)
}
