package client

import (
	"context"
	"iter"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Customer is a buyer. Amounts are in minor units of its currency.
type Customer = storefrontv1.Customer

// CustomerPage is one page of customers.
type CustomerPage = storefrontv1.ListCustomersResponse

// CustomerFilter selects customers; a field with its zero value selects all.
type CustomerFilter struct {
	// Page is the number of the first page, from 1. PageSize is 1 to 100; 0 means 25.
	Page     int64
	PageSize int32
	// Q is text to find in name, e-mail or phone, without regard to case.
	Q string
}

// NewCustomer needs an e-mail, a phone or both; empty fields are left out.
type NewCustomer struct {
	Name  string
	Email string
	// Phone may be international or in the form of the store's country.
	Phone string
}

// Customers has the operations on customers, whom an e-mail or a phone identifies within a store. Goroutines may share it.
type Customers struct {
	caller *caller
	rpc    storefrontv1connect.CustomerServiceClient
}

// List returns all customers that match, newest first. If a customer is recorded meanwhile, it may return an older one twice:
// compare the ids. After an error, an *Error, the sequence ends. Scope customers:read.
func (c *Customers) List(ctx context.Context, filter CustomerFilter) iter.Seq2[*Customer, error] {
	return all(filter.Page, func(number int64) (*CustomerPage, error) {
		next := filter
		next.Page = number
		return c.Page(ctx, next)
	})
}

// Page retrieves one page of customers. Scope customers:read.
func (c *Customers) Page(ctx context.Context, filter CustomerFilter) (*CustomerPage, error) {
	return call(ctx, c.caller, c.rpc.ListCustomers, &storefrontv1.ListCustomersRequest{
		Page: optional(filter.Page), PageSize: optional(filter.PageSize), Q: optional(filter.Q),
	})
}

// Get retrieves a customer. Scope customers:read.
func (c *Customers) Get(ctx context.Context, id string) (*Customer, error) {
	return call(ctx, c.caller, c.rpc.GetCustomer, &storefrontv1.GetCustomerRequest{Id: id})
}

// Create records a customer, or fills in missing fields of the customer with that e-mail or phone. It is retried like a read,
// because it never records a customer twice. Scope customers:write.
func (c *Customers) Create(ctx context.Context, customer NewCustomer) (*Customer, error) {
	return call(ctx, c.caller, c.rpc.CreateCustomer, &storefrontv1.CreateCustomerRequest{
		Name: customer.Name, Email: optional(customer.Email), Phone: optional(customer.Phone),
	})
}

// Update changes a customer and returns the new state. Scope customers:write.
func (c *Customers) Update(ctx context.Context, id string, change CustomerChange) (*Customer, error) {
	return call(ctx, c.caller, c.rpc.UpdateCustomer, change.request(id))
}
