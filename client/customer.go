package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Customers are the store's buyers. An e-mail address or a phone number identifies a customer
// within a store. Goroutines may share it.
type Customers struct {
	caller *caller
	rpc    storefrontv1connect.CustomerServiceClient
}

// List returns all customers that match the request, newest first; nil matches all. PageSize is the
// number per request, and Page the first page. A customer recorded meanwhile moves the others
// towards the end, so one may come twice: compare ids. After an error, an *Error, the sequence
// ends. It needs the scope customers:read.
func (c *Customers) List(ctx context.Context, request *storefrontv1.ListCustomersRequest) iter.Seq2[*storefrontv1.Customer, error] {
	return all(ctx, request, func(r *storefrontv1.ListCustomersRequest) **int64 { return &r.Page }, c.Page)
}

// Page retrieves one page of customers, for programs that show pages; nil means the first page. It
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

// Create records a customer. If the store already has a customer with that e-mail or phone, Create
// adds what that customer lacks. A customer is never recorded twice, so a Create whose answer was
// lost may be called again. It needs the scope customers:write. The error is an *Error:
// CustomerIdentifierRequired, PhoneInvalid, CustomerConflict or ValidationFailed.
func (c *Customers) Create(ctx context.Context, request *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
	return call(ctx, c.caller, c.rpc.CreateCustomer, request)
}

// Update changes the fields of a customer that are present in the request. With an UpdateMask it
// changes the fields in the mask, and clears those without a value. It needs the scope
// customers:write. The error is an *Error: CustomerNotFound, CustomerIdentifierRequired,
// PhoneInvalid, CustomerConflict or ValidationFailed.
func (c *Customers) Update(ctx context.Context, request *storefrontv1.UpdateCustomerRequest) (*storefrontv1.Customer, error) {
	return call(ctx, c.caller, c.rpc.UpdateCustomer, request)
}
