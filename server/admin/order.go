package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/order"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

// CreateOrder creates a PENDING order of a store. If the request has an idempotency key, CreateOrder creates one order for
// this key. It refuses with store_not_found and as shop.RecordOrder does.
func (o *Operator) CreateOrder(ctx context.Context, in *adminv1.CreateOrderRequest) (*storefrontv1.Order, error) {
	d := shop.OrderDraft{
		CustomerID: in.GetCustomerId(), Buyer: shop.Buyer{Name: in.GetName(), Email: in.Email, Phone: in.Phone},
		PaymentLinkID: in.GetPaymentLinkId(), Amount: in.Amount, Note: in.Note,
	}
	for _, item := range in.GetItems() {
		d.Lines = append(d.Lines, shop.OrderLine{ProductID: item.GetProductId(), Quantity: item.GetQuantity()})
	}
	return callInStore(shop.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), o, in.GetStore(), d, o.shop.RecordOrder)
}

// ListOrders returns a page of a store's orders, newest first. It refuses with store_not_found or
// validation_failed.
func (o *Operator) ListOrders(ctx context.Context, in *adminv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	return callInStore(ctx, o, in.GetStore(), &storefrontv1.ListOrdersRequest{
		Page: in.Page, PageSize: in.PageSize, Status: in.Status, From: in.GetFrom(), To: in.GetTo(),
	}, o.shop.ListOrders)
}

// GetOrder returns an order. It refuses with order_not_found.
func (o *Operator) GetOrder(ctx context.Context, in *adminv1.GetOrderRequest) (*storefrontv1.Order, error) {
	return callInRowStore(ctx, o, orderKind, in, &storefrontv1.GetOrderRequest{Id: in.GetId()}, o.shop.GetOrder)
}

// FindOrder finds an order by id, or in a store by its reference or a part of the id. It refuses with store_not_found or
// order_not_found.
func (o *Operator) FindOrder(ctx context.Context, in *adminv1.FindOrderRequest) (*storefrontv1.Order, error) {
	ctx, id, err := o.find(ctx, orderKind, in, func(tenant.Store) (string, string) { return order.FieldReference, in.GetName() })
	if err != nil {
		return nil, err
	}
	return o.GetOrder(ctx, &adminv1.GetOrderRequest{Id: id})
}

// PayOrder marks an order as paid. If it is paid already, nothing changes. It refuses with order_not_found,
// order_transition_invalid, total_limit or idempotency_key_reused.
func (o *Operator) PayOrder(ctx context.Context, in *adminv1.PayOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusPAID)
}

// FailOrder marks an order as failed, because its payment failed. If it is marked already, nothing changes. It refuses with
// order_not_found, order_transition_invalid or idempotency_key_reused.
func (o *Operator) FailOrder(ctx context.Context, in *adminv1.FailOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusFAILED)
}

// CancelOrder cancels an order. If it is cancelled already, nothing changes. It refuses with order_not_found,
// order_transition_invalid or idempotency_key_reused.
func (o *Operator) CancelOrder(ctx context.Context, in *adminv1.CancelOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusCANCELLED)
}

// RefundOrder marks a paid order as refunded. If it is refunded already, nothing changes. It refuses with order_not_found,
// order_transition_invalid or idempotency_key_reused.
func (o *Operator) RefundOrder(ctx context.Context, in *adminv1.RefundOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusREFUNDED)
}

// orderMove is a request to change an order's status.
type orderMove interface {
	rowRequest
	namedRequest
	GetIdempotencyKey() string
}

// move changes the status of an order. The request names the order by its id, or by a store and a name. move looks up the
// name in the transaction that changes the order.
func (o *Operator) move(ctx context.Context, in orderMove, to order.Status) (*storefrontv1.Order, error) {
	ctx = shop.WithIdempotencyKey(ctx, in.GetIdempotencyKey())
	if in.GetName() == "" {
		return callInRowStore(ctx, o, orderKind, in, to, func(ctx context.Context, to order.Status) (*storefrontv1.Order, error) {
			return o.shop.MoveOrder(ctx, to, shop.OrderID(in.GetId()))
		})
	}
	ctx, t, err := o.check(ctx, nil, in.GetStore())
	if err != nil {
		return nil, err
	}
	return o.shop.MoveOrder(ctx, to, func(ctx context.Context, tx *ent.Tx) (uuid.UUID, error) {
		id, err := orderKind.findID(ctx, tx, t, in.GetName(), order.FieldReference, in.GetName())
		if err != nil {
			return uuid.Nil, err
		}
		return uuid.Parse(id)
	})
}
