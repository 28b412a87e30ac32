package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// CreateCustomer creates a customer of a store, or completes the one that it knows; created tells
// which. It refuses with store_not_found and as shop.CreateCustomer does.
func (o *Operator) CreateCustomer(ctx context.Context, storeName string, in *storefrontv1.CreateCustomerRequest) (c *storefrontv1.Customer, created bool, err error) {
	ctx, err = o.In(ctx, storeName)
	if err != nil {
		return nil, false, err
	}
	return o.shop.CreateCustomer(ctx, in)
}

// ListCustomers returns a page of a store's customers, newest first. It refuses with
// store_not_found or validation_failed.
func (o *Operator) ListCustomers(ctx context.Context, storeName string, in *storefrontv1.ListCustomersRequest) (*storefrontv1.ListCustomersResponse, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return nil, err
	}
	return o.shop.ListCustomers(ctx, in)
}

// GetCustomer returns a customer. It refuses with customer_not_found.
func (o *Operator) GetCustomer(ctx context.Context, in *storefrontv1.GetCustomerRequest) (*storefrontv1.Customer, error) {
	ctx, err := o.inCustomer(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.GetCustomer(ctx, in)
}

// UpdateCustomer changes the named fields of a customer. It refuses as shop.UpdateCustomer does.
func (o *Operator) UpdateCustomer(ctx context.Context, in *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	ctx, err := o.inCustomer(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return o.shop.UpdateCustomer(ctx, in)
}

// inCustomer is In for the store that owns the customer.
func (o *Operator) inCustomer(ctx context.Context, id string) (context.Context, error) {
	return o.inOwner(ctx, id, apierr.CustomerNotFound, func(id uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Customer.Query().Where(customer.ID(id)).QueryStore()
	})
}
