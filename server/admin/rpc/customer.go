package rpc

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// CreateCustomer serves CustomerService.CreateCustomer.
func (s handlers) CreateCustomer(ctx context.Context, in *adminv1.CreateCustomerRequest) (*adminv1.CreateCustomerResponse, error) {
	customer, created, err := s.operator.CreateCustomer(ctx, in.GetStore(), &storefrontv1.CreateCustomerRequest{
		Name: in.GetName(), Email: in.Email, Phone: in.Phone,
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateCustomerResponse{Customer: customer, Created: created}, nil
}

// ListCustomers serves CustomerService.ListCustomers.
func (s handlers) ListCustomers(ctx context.Context, in *adminv1.ListCustomersRequest) (*storefrontv1.ListCustomersResponse, error) {
	return s.operator.ListCustomers(ctx, in.GetStore(), &storefrontv1.ListCustomersRequest{Page: in.Page, PageSize: in.PageSize, Q: in.Q})
}

// GetCustomer serves CustomerService.GetCustomer.
func (s handlers) GetCustomer(ctx context.Context, in *storefrontv1.GetCustomerRequest) (*storefrontv1.Customer, error) {
	return s.operator.GetCustomer(ctx, in)
}

// UpdateCustomer serves CustomerService.UpdateCustomer.
func (s handlers) UpdateCustomer(ctx context.Context, in *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	return s.operator.UpdateCustomer(ctx, in)
}
