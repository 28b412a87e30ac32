package shop

import (
	"context"
	"fmt"

	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/refusal"
)

// GetStore returns the store of the context.
func (s *Shop) GetStore(ctx context.Context) (*storefrontv1.Store, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	row, err := s.store.Client().Store.Query().Where(store.ID(t.ID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, refusal.New(refusal.StoreNotFound, "There is no such store.")
	}
	if err != nil {
		return nil, fmt.Errorf("read store: %w", err)
	}
	return wire.Store(row), nil
}
