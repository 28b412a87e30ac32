package shop

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

func orderNotFound() error {
	return apierr.New(apierr.OrderNotFound, "The store has no order with this id.")
}

func (p *problems) listOrders(in *storefrontv1.ListOrdersRequest) (l list[resource.OrderFilter], err error) {
	l.number, l.page = p.page(in)
	l.filter.Status = in.GetStatus()
	l.filter.From = p.filterTime("from", in.GetFrom())
	l.filter.To = p.filterTime("to", in.GetTo())
	return l, p.Err()
}

// filterTime rounds a time up to a millisecond: compared with stored times, which are whole milliseconds, it is as good as the
// exact one.
func (p *problems) filterTime(field string, at *timestamppb.Timestamp) *time.Time {
	t := p.Time(field, at)
	if t != nil && t.Before(at.AsTime()) {
		*t = t.Add(time.Millisecond)
	}
	return t
}

// ListOrders returns a page of orders, newest first; resource.Orders documents the cost.
func (s *Shop) ListOrders(ctx context.Context, in *storefrontv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newProblems(ctx).listOrders(in)
	if err != nil {
		return nil, err
	}
	out := &storefrontv1.ListOrdersResponse{Page: l.number, PageSize: int32(l.page.Size)}
	out.Data, out.Total, err = resource.Orders(ctx, s.counts.Lists(ctx), t, l.filter, l.page)
	return out, err
}

// GetOrder returns an order of the store.
func (s *Shop) GetOrder(ctx context.Context, in *storefrontv1.GetOrderRequest) (*storefrontv1.Order, error) {
	t, id, err := validate.StoreAndID(ctx, in.GetId(), orderNotFound)
	if err != nil {
		return nil, err
	}
	o, err := resource.ReadOrder(ctx, s.db.ForStore(ctx).Reader(), t, id)
	if errors.Is(err, resource.ErrNotFound) {
		return nil, orderNotFound()
	}
	return o, err
}
