package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Customers are the store's buyers. Within a store an e-mail address or a phone number identifies
// one of them. Goroutines may share it.
type Customers struct {
	caller *caller
	rpc    storefrontv1connect.CustomerServiceClient
}

// List walks all customers that the request asks for, newest first; nil asks for all. PageSize is
// how many a request brings, and Page where to start. Customers that are recorded meanwhile move the
// others towards the end, so that one may come twice: the id tells. After an error, an *Error, the
// sequence ends. It needs the scope customers:read.
func (c *Customers) List(ctx context.Context, request *storefrontv1.ListCustomersRequest) iter.Seq2[*storefrontv1.Customer, error] {
	return all(ctx, request, func(r *storefrontv1.ListCustomersRequest) **int64 { return &r.Page }, c.Page)
}

// Page retrieves one page of customers, for what shows pages itself; nil asks for the first one. It
// needs the scope customers:read. The error is an *Error: ValidationFailed for a request out of
// bounds.
func (c *Customers) Page(ctx context.Context, request *storefrontv1.ListCustomersRequest) (*storefrontv1.ListCustomersResponse, error) {
	return call(ctx, c.caller, c.rpc.ListCustomers, request)
}

// Get retrieves a customer. It needs the scope customers:read. The error is an *Error:
// CustomerNotFound.
func (c *Customers) Get(ctx context.Context, id string) (*storefrontv1.Customer, error) {
	return call(ctx, c.caller, c.rpc.GetCustomer, &storefrontv1.GetCustomerRequest{Id: id})
}

// Create records a customer, or completes with what it lacked the one that the store already knows
// by that e-mail or phone; none is ever recorded twice, so a Create whose answer was lost may be
// called again. It needs the scope customers:write. The error is an *Error:
// CustomerIdentifierRequired, PhoneInvalid, CustomerConflict or ValidationFailed.
func (c *Customers) Create(ctx context.Context, request *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
	return call(ctx, c.caller, c.rpc.CreateCustomer, request)
}

// Update changes the fields of a customer that are present in the request; with an UpdateMask it
// changes those that the mask names, and clears those of them that have no value. It needs the scope
// customers:write. The error is an *Error: CustomerNotFound, CustomerIdentifierRequired,
// PhoneInvalid, CustomerConflict or ValidationFailed.
func (c *Customers) Update(ctx context.Context, request *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	return call(ctx, c.caller, c.rpc.UpdateCustomer, request)
}
