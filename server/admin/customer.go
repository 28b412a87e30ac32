package admin

import (
	"context"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/customer"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// CreateCustomer creates a customer of a store, or completes the one that the store has. It refuses with
// store_not_found and as shop.CreateCustomer does.
func (o *Operator) CreateCustomer(ctx context.Context, in *adminv1.CreateCustomerRequest) (*adminv1.CreateCustomerResponse,
	error) {
	ctx, err := o.In(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	customer, created, err := o.rules.CreateCustomer(ctx, &storefrontv1.CreateCustomerRequest{Name: in.GetName(), Email: in.Email,
		Phone: in.Phone})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateCustomerResponse{Customer: customer, Created: created}, nil
}

// ListCustomers returns a page of a store's customers, newest first. It refuses with
// store_not_found or validation_failed.
func (o *Operator) ListCustomers(ctx context.Context, in *adminv1.ListCustomersRequest) (*storefrontv1.ListCustomersResponse,
	error) {
	return inStore(ctx, o, in.GetStore(), &storefrontv1.ListCustomersRequest{Page: in.Page, PageSize: in.PageSize, Q: in.Q},
		o.rules.ListCustomers)
}

// GetCustomer returns a customer. It refuses with customer_not_found.
func (o *Operator) GetCustomer(ctx context.Context, in *storefrontv1.GetCustomerRequest) (*storefrontv1.Customer, error) {
	return inRow(ctx, in, o.inCustomer, o.rules.GetCustomer)
}

// FindCustomer returns a customer by its id or a part of it, or by its e-mail or phone in a store. It refuses with
// store_not_found or customer_not_found.
func (o *Operator) FindCustomer(ctx context.Context, in *adminv1.FindCustomerRequest) (*storefrontv1.Customer, error) {
	ctx, id, err := o.named(ctx, in.GetStore(), in.GetName(), apierr.CustomerNotFound, []string{customer.Table},
		func(ctx context.Context, t tenant.Store) (uuid.UUID, error) {
			var p validate.Problems
			is := customer.Email("")
			if email := p.Email("name", in.GetName()); email != nil {
				is = customer.Email(*email)
			} else if phone := p.Phone("name", in.GetName(), t.Country); phone != nil {
				is = customer.Phone(*phone)
			}
			return o.db.Client().Customer.Query().Where(customer.StoreID(t.ID), is).OnlyID(ctx)
		})
	if err != nil {
		return nil, err
	}
	return o.GetCustomer(ctx, &storefrontv1.GetCustomerRequest{Id: id})
}

// UpdateCustomer changes the named fields of a customer. It refuses as shop.UpdateCustomer does.
func (o *Operator) UpdateCustomer(ctx context.Context, in *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	return inRow(ctx, in, o.inCustomer, o.rules.UpdateCustomer)
}

// inCustomer is In for the store that owns the customer.
func (o *Operator) inCustomer(ctx context.Context, id string) (context.Context, error) {
	return o.inOwner(ctx, id, apierr.CustomerNotFound, owns(customer.Table))
}
