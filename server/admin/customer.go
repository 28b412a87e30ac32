package admin

import (
	"context"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/customer"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// CreateCustomer creates a customer of a store, or fills in the missing fields of an existing customer. It refuses with
// store_not_found and as shop.CreateCustomer does.
func (o *Operator) CreateCustomer(ctx context.Context, in *adminv1.CreateCustomerRequest) (*adminv1.CreateCustomerResponse,
	error) {
	ctx, err := o.WithStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	customer, created, err := o.shop.EnsureCustomer(ctx, &storefrontv1.CreateCustomerRequest{Name: in.GetName(), Email: in.Email,
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
	return callInStore(ctx, o, in.GetStore(), &storefrontv1.ListCustomersRequest{Page: in.Page, PageSize: in.PageSize, Q: in.Q},
		o.shop.ListCustomers)
}

// GetCustomer returns a customer. It refuses with customer_not_found.
func (o *Operator) GetCustomer(ctx context.Context, in *adminv1.GetCustomerRequest) (*storefrontv1.Customer, error) {
	return callInRowStore(ctx, o, customerKind, in, &storefrontv1.GetCustomerRequest{Id: in.GetId()}, o.shop.GetCustomer)
}

// FindCustomer finds a customer by id, or in a store by a part of the id, an e-mail or a phone. It refuses with
// store_not_found or customer_not_found.
func (o *Operator) FindCustomer(ctx context.Context, in *adminv1.FindCustomerRequest) (*storefrontv1.Customer, error) {
	ctx, id, err := o.find(ctx, customerKind, in, func(t tenant.Store) (string, string) {
		if email, ok := validate.Address(in.GetName()); ok {
			return customer.FieldEmail, email
		}
		var p validate.Problems
		if phone := p.Phone("name", in.GetName(), t.Country); phone != nil {
			return customer.FieldPhone, *phone
		}
		return customer.FieldEmail, "" // finds nobody, because no customer has an empty e-mail
	})
	if err != nil {
		return nil, err
	}
	return o.GetCustomer(ctx, &adminv1.GetCustomerRequest{Id: id})
}

// UpdateCustomer changes the named fields of a customer. It refuses as shop.UpdateCustomer does.
func (o *Operator) UpdateCustomer(ctx context.Context, in *adminv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	return callInRowStore(ctx, o, customerKind, in, in, o.shop.UpdateCustomerAsOperator)
}
