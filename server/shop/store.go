package shop

import (
	"context"

	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/store"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// GetStore returns the store of the context.
func (s *Shop) GetStore(ctx context.Context, _ *storefrontv1.GetStoreRequest) (*storefrontv1.Store, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	row, err := s.db.Client().Store.Query().Where(store.ID(t.ID)).Only(ctx)
	if err := apierr.RowError("store", err, func() error { return storeNotFound(t.Slug) }); err != nil {
		return nil, err
	}
	return resource.Store(row), nil
}
