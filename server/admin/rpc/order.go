package rpc

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

// CreateOrder serves OrderService.CreateOrder.
func (s handlers) CreateOrder(ctx context.Context, in *adminv1.CreateOrderRequest) (*storefrontv1.Order, error) {
	d := service.OrderDraft{
		CustomerID: in.GetCustomerId(), Buyer: service.Buyer{Name: in.GetName(), Email: in.Email, Phone: in.Phone},
		PaymentLinkID: in.GetPaymentLinkId(), Amount: in.Amount, Note: in.Note,
	}
	for _, item := range in.GetItems() {
		d.Lines = append(d.Lines, service.OrderLine{ProductID: item.GetProductId(), Quantity: item.GetQuantity()})
	}
	return s.operator.CreateOrder(service.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), in.GetStore(), d)
}

// ListOrders serves OrderService.ListOrders.
func (s handlers) ListOrders(ctx context.Context, in *adminv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	return s.operator.ListOrders(ctx, in.GetStore(), &storefrontv1.ListOrdersRequest{
		Page: in.Page, PageSize: in.PageSize, Status: in.Status, From: in.GetFrom(), To: in.GetTo(),
	})
}

// GetOrder serves OrderService.GetOrder.
func (s handlers) GetOrder(ctx context.Context, in *storefrontv1.GetOrderRequest) (*storefrontv1.Order, error) {
	return s.operator.GetOrder(ctx, in)
}

// PayOrder serves OrderService.PayOrder.
func (s handlers) PayOrder(ctx context.Context, in *adminv1.PayOrderRequest) (*storefrontv1.Order, error) {
	return s.operator.PayOrder(service.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), in.GetId())
}

// FailOrder serves OrderService.FailOrder.
func (s handlers) FailOrder(ctx context.Context, in *adminv1.FailOrderRequest) (*storefrontv1.Order, error) {
	return s.operator.FailOrder(service.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), in.GetId())
}

// CancelOrder serves OrderService.CancelOrder.
func (s handlers) CancelOrder(ctx context.Context, in *adminv1.CancelOrderRequest) (*storefrontv1.Order, error) {
	return s.operator.CancelOrder(service.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), in.GetId())
}

// RefundOrder serves OrderService.RefundOrder.
func (s handlers) RefundOrder(ctx context.Context, in *adminv1.RefundOrderRequest) (*storefrontv1.Order, error) {
	return s.operator.RefundOrder(service.WithIdempotencyKey(ctx, in.GetIdempotencyKey()), in.GetId())
}

// CreateOrder is admin.Operator's.
func (c *Client) CreateOrder(ctx context.Context, storeName string, d service.OrderDraft) (*storefrontv1.Order, error) {
	in := &adminv1.CreateOrderRequest{
		Store: storeName, CustomerId: d.CustomerID, Name: d.Buyer.Name, Email: d.Buyer.Email, Phone: d.Buyer.Phone,
		PaymentLinkId: d.PaymentLinkID, Amount: d.Amount, Note: d.Note, IdempotencyKey: service.IdempotencyKey(ctx),
	}
	for _, line := range d.Lines {
		in.Items = append(in.Items, &adminv1.CreateOrderRequest_Item{ProductId: line.ProductID, Quantity: line.Quantity})
	}
	out, err := c.orders.CreateOrder(ctx, in)
	return read(c, out, err, same)
}

// PayOrder is admin.Operator's.
func (c *Client) PayOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	out, err := c.orders.PayOrder(ctx, &adminv1.PayOrderRequest{Id: id, IdempotencyKey: service.IdempotencyKey(ctx)})
	return read(c, out, err, same)
}

// FailOrder is admin.Operator's.
func (c *Client) FailOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	out, err := c.orders.FailOrder(ctx, &adminv1.FailOrderRequest{Id: id, IdempotencyKey: service.IdempotencyKey(ctx)})
	return read(c, out, err, same)
}

// CancelOrder is admin.Operator's.
func (c *Client) CancelOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	out, err := c.orders.CancelOrder(ctx, &adminv1.CancelOrderRequest{Id: id, IdempotencyKey: service.IdempotencyKey(ctx)})
	return read(c, out, err, same)
}

// RefundOrder is admin.Operator's.
func (c *Client) RefundOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	out, err := c.orders.RefundOrder(ctx, &adminv1.RefundOrderRequest{Id: id, IdempotencyKey: service.IdempotencyKey(ctx)})
	return read(c, out, err, same)
}
