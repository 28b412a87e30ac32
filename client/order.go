package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Orders are the store's orders. The platform's checkout writes them; the API only reads them.
// Goroutines may share it.
type Orders struct {
	caller *caller
	rpc    storefrontv1connect.OrderServiceClient
}

// List returns all orders that match the request, newest first; nil matches all. PageSize is the
// number per request, and Page the first page. A new order moves the others towards the end, so one
// may come twice; set To to now to prevent that. After an error, an *Error, the sequence ends. It
// needs the scope orders:read.
func (o *Orders) List(ctx context.Context, request *storefrontv1.ListOrdersRequest) iter.Seq2[*storefrontv1.Order, error] {
	return all(ctx, request, func(r *storefrontv1.ListOrdersRequest) **int64 { return &r.Page }, o.Page)
}

// Page retrieves one page of orders, for programs that show pages; nil means the first page. It
// needs the scope orders:read. The error is an *Error: ValidationFailed for a request out of
// bounds.
func (o *Orders) Page(ctx context.Context, request *storefrontv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	return call(ctx, o.caller, o.rpc.ListOrders, request)
}

// Get retrieves an order. It needs the scope orders:read. The error is an *Error: OrderNotFound.
func (o *Orders) Get(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return call(ctx, o.caller, o.rpc.GetOrder, &storefrontv1.GetOrderRequest{Id: id})
}
