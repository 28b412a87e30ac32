package client

import (
	"context"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Store has the operation on the key's store. Goroutines may share it.
type Store struct {
	caller *caller
	rpc    storefrontv1connect.StoreServiceClient
}

// Get retrieves the store. Scope store:read.
func (s *Store) Get(ctx context.Context) (*storefrontv1.Store, error) {
	return call(ctx, s.caller, s.rpc.GetStore, &storefrontv1.GetStoreRequest{})
}
