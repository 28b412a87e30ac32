package admin

import (
	"context"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/order"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

// CreateOrder creates a PENDING order, one for each idempotency key.
func (o *Operator) CreateOrder(ctx context.Context, in *adminv1.CreateOrderRequest) (*storefrontv1.Order, error) {
	d := shop.OrderDraft{
		CustomerID: in.GetCustomerId(), Buyer: shop.Buyer{Name: in.GetName(), Email: in.Email, Phone: in.Phone},
		PaymentLinkID: in.GetPaymentLinkId(), Amount: in.Amount, Note: in.Note,
	}
	for _, item := range in.GetItems() {
		d.Lines = append(d.Lines, shop.OrderLine{ProductID: item.GetProductId(), Quantity: item.GetQuantity()})
	}
	return callInStore(tenant.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), o, in.GetStore(), d, o.shop.RecordOrder)
}

// PayOrder marks an order as paid. Repeated, it changes nothing.
func (o *Operator) PayOrder(ctx context.Context, in *adminv1.PayOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusPAID)
}

// FailOrder marks an order as failed. Repeated, it changes nothing.
func (o *Operator) FailOrder(ctx context.Context, in *adminv1.FailOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusFAILED)
}

// CancelOrder cancels an order. Repeated, it changes nothing.
func (o *Operator) CancelOrder(ctx context.Context, in *adminv1.CancelOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusCANCELLED)
}

// RefundOrder marks a paid order as refunded. Repeated, it changes nothing.
func (o *Operator) RefundOrder(ctx context.Context, in *adminv1.RefundOrderRequest) (*storefrontv1.Order, error) {
	return o.move(ctx, in, order.StatusREFUNDED)
}

type orderMove interface {
	rowRequest
	GetIdempotencyKey() string
}

func (o *Operator) move(ctx context.Context, in orderMove, to order.Status) (*storefrontv1.Order, error) {
	ctx, err := o.withRowStore(ctx, orderKind, in.GetStore(), in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.MoveOrder(tenant.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), in.GetId(), to)
}
