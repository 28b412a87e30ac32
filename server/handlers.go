package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/shop"
)

// api serves storefront.v1 to callers. Its own methods replace those of Shop whose answers need an HTTP status other than 200.
type api struct{ *shop.Shop }

// CreateCustomer answers 201 for a new customer, and 200 for one that the store has.
func (a api) CreateCustomer(ctx context.Context, in *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
	customer, created, err := a.EnsureCustomer(ctx, in)
	if created {
		edge.Created(ctx)
	}
	return customer, err
}

// CreatePaymentLink answers 201.
func (a api) CreatePaymentLink(ctx context.Context, in *storefrontv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink,
	error) {
	link, err := a.Shop.CreatePaymentLink(ctx, in)
	if err == nil {
		edge.Created(ctx)
	}
	return link, err
}

func (a api) services(options ...connect.HandlerOption) []edge.Service {
	service := func(path string, handler http.Handler) edge.Service {
		return edge.Service{Path: path, Handler: handler}
	}
	return []edge.Service{
		service(storefrontv1connect.NewStoreServiceHandler(a, options...)),
		service(storefrontv1connect.NewProductServiceHandler(a, options...)),
		service(storefrontv1connect.NewOrderServiceHandler(a, options...)),
		service(storefrontv1connect.NewCustomerServiceHandler(a, options...)),
		service(storefrontv1connect.NewPaymentLinkServiceHandler(a, options...)),
	}
}
