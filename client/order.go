package client

import (
	"context"
	"iter"
	"time"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Order is a purchase. Amounts are in minor units of its currency.
type Order = storefrontv1.Order

// OrderPage is one page of orders.
type OrderPage = storefrontv1.ListOrdersResponse

// OrderStatus is the status of an order.
type OrderStatus = storefrontv1.Order_Status

// The statuses of an order.
const (
	OrderPending   = storefrontv1.Order_PENDING
	OrderPaid      = storefrontv1.Order_PAID
	OrderFailed    = storefrontv1.Order_FAILED
	OrderCancelled = storefrontv1.Order_CANCELLED
	OrderRefunded  = storefrontv1.Order_REFUNDED
)

// OrderFilter selects orders; a field with its zero value selects all.
type OrderFilter struct {
	// Page is the number of the first page, from 1. PageSize is 1 to 100; 0 means 25.
	Page     int64
	PageSize int32
	Status   OrderStatus
	// From and To select orders created at From or later, and before To. A zero time sets no limit.
	From, To time.Time
}

// Orders has the operations on orders, which the platform's checkout writes and the API only reads. Goroutines may share it.
type Orders struct {
	caller *caller
	rpc    storefrontv1connect.OrderServiceClient
}

// List returns all orders that match, newest first. If an order is recorded meanwhile, it may return an older one twice, unless
// To is the current time. After an error, an *Error, the sequence ends. Scope orders:read.
func (o *Orders) List(ctx context.Context, filter OrderFilter) iter.Seq2[*Order, error] {
	return all(filter.Page, func(number int64) (*OrderPage, error) {
		next := filter
		next.Page = number
		return o.Page(ctx, next)
	})
}

// Page retrieves one page of orders. Scope orders:read.
func (o *Orders) Page(ctx context.Context, filter OrderFilter) (*OrderPage, error) {
	return call(ctx, o.caller, o.rpc.ListOrders, &storefrontv1.ListOrdersRequest{
		Page: optional(filter.Page), PageSize: optional(filter.PageSize), Status: optional(filter.Status),
		From: timestampOf(optional(filter.From)), To: timestampOf(optional(filter.To)),
	})
}

// Get retrieves an order. Scope orders:read.
func (o *Orders) Get(ctx context.Context, id string) (*Order, error) {
	return call(ctx, o.caller, o.rpc.GetOrder, &storefrontv1.GetOrderRequest{Id: id})
}
