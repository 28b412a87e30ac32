package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// CreateOrder records a PENDING order of a store. Like the operations that move an order it is
// carried out once under shop.WithIdempotencyKey. It refuses with store_not_found and as
// shop.RecordOrder does.
func (o *Operator) CreateOrder(ctx context.Context, storeName string, d service.OrderDraft) (*storefrontv1.Order, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.RecordOrder(ctx, d)
}

// PayOrder tells that an order was paid. Like the other answers of a payment provider it changes
// nothing when it has been told before. It refuses with order_not_found, order_transition_invalid or
// total_limit.
func (o *Operator) PayOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return o.move(ctx, id, o.shop.PayOrder)
}

// FailOrder tells that the payment of an order failed. It refuses with order_not_found or
// order_transition_invalid.
func (o *Operator) FailOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return o.move(ctx, id, o.shop.FailOrder)
}

// CancelOrder tells that an order was given up. It refuses with order_not_found or
// order_transition_invalid.
func (o *Operator) CancelOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return o.move(ctx, id, o.shop.CancelOrder)
}

// RefundOrder tells that a paid order was paid back. It refuses with order_not_found or
// order_transition_invalid.
func (o *Operator) RefundOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return o.move(ctx, id, o.shop.RefundOrder)
}

func (o *Operator) move(ctx context.Context, id string, to func(context.Context, string) (*storefrontv1.Order, error)) (*storefrontv1.Order, error) {
	ctx, err := o.inOrder(ctx, id)
	if err != nil {
		return nil, err
	}
	return to(ctx, id)
}

// ListOrders returns a page of a store's orders, newest first. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ListOrders(ctx context.Context, storeName string, in *storefrontv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListOrders(ctx, in)
}

// GetOrder returns an order. It refuses with order_not_found.
func (o *Operator) GetOrder(ctx context.Context, in *storefrontv1.GetOrderRequest) (*storefrontv1.Order, error) {
	ctx, err := o.inOrder(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.GetOrder(ctx, in)
}

// inOrder is In for the store that owns the order.
func (o *Operator) inOrder(ctx context.Context, id string) (context.Context, error) {
	return o.inOwner(ctx, id, apierr.OrderNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Order.Query().Where(order.ID(id)).QueryStore()
	})
}
