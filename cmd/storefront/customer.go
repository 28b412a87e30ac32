package main

import (
	"context"
	"strconv"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/operator"
	"go.storefront.example/server/validate"
)

type customerCmd struct {
	List customerListCmd `cmd:"" help:"List a store's customers, newest first."`
	Show customerShowCmd `cmd:"" help:"Show a customer."`
}

type customerListCmd struct {
	paged
	Q *string `name:"q" clears:"" placeholder:"TEXT" help:"Text to find in name, e-mail or phone; a phone is also found by its digits."`
}

// Run lists the customers.
func (c *customerListCmd) Run(s *session) error {
	return listPages(s, c.paged, customerTable, func(ctx context.Context, o operator.API, store string, page *int64, size *int32) ([]*storefrontv1.Customer, int64, error) {
		out, err := o.ListCustomers(ctx, &adminv1.ListCustomersRequest{Store: store, Page: page, PageSize: size, Q: c.Q})
		return out.GetData(), out.GetTotal(), err
	})
}

var customerTable = table[*storefrontv1.Customer]{"NAME~,EMAIL~,PHONE,PAID?,ORDERS?,CREATED@?,ID?", func(c *storefrontv1.Customer) []string {
	return []string{
		c.GetName(), orDash(c.Email), orDash(c.Phone), validate.FormatAmount(c.GetTotalPaid(), c.GetCurrency()), strconv.Itoa(int(c.GetOrdersCount())),
		when(c.GetCreatedAt()), c.GetId(),
	}
}, whole[*storefrontv1.Customer]}

type customerShowCmd struct {
	owned
	Name string `arg:"" help:"The customer's id, e-mail or phone."`
}

// Run shows the customer.
func (c *customerShowCmd) Run(s *session) error { return show(s, c.owned, c.Name, findCustomer) }

func findCustomer(ctx context.Context, o operator.API, store, name string) (*storefrontv1.Customer, error) {
	return o.FindCustomer(ctx, &adminv1.FindCustomerRequest{Store: store, Name: name})
}
