package client

import (
	"context"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Store has the operation on the store that the key belongs to. Goroutines may share a Store.
type Store struct {
	caller *caller
	rpc    storefrontv1connect.StoreServiceClient
}

// Get retrieves the store. It needs the scope store:read. The error is an *Error.
func (s *Store) Get(ctx context.Context) (*storefrontv1.Store, error) {
	return call(ctx, s.caller, s.rpc.GetStore, &storefrontv1.GetStoreRequest{})
}
