package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Orders are the store's orders, which the platform's checkout writes and the API only reads.
// Goroutines may share it.
type Orders struct {
	caller *caller
	rpc    storefrontv1connect.OrderServiceClient
}

// List walks all orders that the request asks for, newest first; nil asks for all. PageSize is how
// many a request brings, and Page where to start. Orders that come in meanwhile move the others
// towards the end, so that one may come twice; with To set to now, they stay out and none does.
// After an error, an *Error, the sequence ends. It needs the scope orders:read.
func (o *Orders) List(ctx context.Context, request *storefrontv1.ListOrdersRequest) iter.Seq2[*storefrontv1.Order, error] {
	return all(ctx, request, func(r *storefrontv1.ListOrdersRequest) **int64 { return &r.Page }, o.Page)
}

// Page retrieves one page of orders, for what shows pages itself; nil asks for the first one. It
// needs the scope orders:read. The error is an *Error: ValidationFailed for a request out of bounds.
func (o *Orders) Page(ctx context.Context, request *storefrontv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	return call(ctx, o.caller, o.rpc.ListOrders, request)
}

// Get retrieves an order. It needs the scope orders:read. The error is an *Error: OrderNotFound.
func (o *Orders) Get(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return call(ctx, o.caller, o.rpc.GetOrder, &storefrontv1.GetOrderRequest{Id: id})
}
