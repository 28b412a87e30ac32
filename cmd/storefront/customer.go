package main

import (
	"context"
	"strconv"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/validate"
)

type customerCmd struct {
	Create customerCreateCmd `cmd:"" help:"Create a customer."`
	List   customerListCmd   `cmd:"" help:"List a store's customers, newest first."`
	Show   customerShowCmd   `cmd:"" help:"Show a customer."`
	Update customerUpdateCmd `cmd:"" help:"Change a customer."`
}

type customerCreateCmd struct {
	inStore
	Name  string  `required:"" clears:"" placeholder:"NAME" help:"Name, at most 200 characters."`
	Email *string `placeholder:"EMAIL" help:"E-mail; a customer has an e-mail or a phone."`
	Phone *string `placeholder:"PHONE" help:"Phone, in international form or as dialled in the store's country."`
}

// Run creates the customer.
func (c *customerCreateCmd) Run(s *session) error {
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		store, err := (storeScoped(c.inStore)).storeOf(ctx, o)
		if err != nil {
			return err
		}
		made, err := o.CreateCustomer(ctx, &adminv1.CreateCustomerRequest{Store: store, Name: c.Name, Email: c.Email, Phone: c.Phone})
		if err != nil {
			return err
		}
		if !made.GetCreated() {
			s.say("the store has a customer with this e-mail or phone already; this is it")
		}
		return s.print(whole(made.GetCustomer()))
	})
}

type customerUpdateCmd struct {
	storeScoped
	Customer string     `arg:"" name:"name" help:"The customer's id, e-mail or phone."`
	Name     *string    `clears:"" placeholder:"NAME" help:"Name, at most 200 characters."`
	Email    textOrNone `placeholder:"EMAIL|none" help:"E-mail; none removes it."`
	Phone    textOrNone `placeholder:"PHONE|none" help:"Phone; none removes it."`
}

// Run changes the customer.
func (c *customerUpdateCmd) Run(s *session) error {
	in := &storefrontv1.UpdateCustomerRequest{Name: c.Name}
	var cleared []string
	c.Email.put(&in.Email, "email", &cleared)
	c.Phone.put(&in.Phone, "phone", &cleared)
	in.UpdateMask = maskOf(in, "id", cleared...)
	if err := s.changes(in.UpdateMask); err != nil {
		return err
	}
	return callNamed(s, c.storeScoped, c.Customer, findCustomer, whole,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.Customer, error) {
			in.Id = id
			return o.UpdateCustomer(ctx, in)
		})
}

type customerListCmd struct {
	paged
	Q *string `name:"q" clears:"" placeholder:"TEXT" help:"Text to find in name, e-mail or phone; a phone is also found by its digits."`
}

// Run lists the customers.
func (c *customerListCmd) Run(s *session) error {
	return listPages(s, c.paged, customerTable, func(ctx context.Context, o admin.API, store string, page *int64, size *int32) (
		[]*storefrontv1.Customer, int64, error) {
		out, err := o.ListCustomers(ctx, &adminv1.ListCustomersRequest{Store: store, Page: page, PageSize: size, Q: c.Q})
		return out.GetData(), out.GetTotal(), err
	})
}

var customerTable = table[*storefrontv1.Customer]{"NAME~,EMAIL~,PHONE,PAID?,ORDERS?,CREATED@?,ID?",
	func(c *storefrontv1.Customer) []string {
		return []string{
			c.GetName(), orDash(c.Email), orDash(c.Phone), validate.FormatAmount(c.GetTotalPaid(), c.GetCurrency()),
			strconv.Itoa(int(c.GetOrdersCount())),
			when(c.GetCreatedAt()), c.GetId(),
		}
	}, whole[*storefrontv1.Customer]}

type customerShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The customer's id, e-mail or phone."`
}

// Run shows the customer.
func (c *customerShowCmd) Run(s *session) error { return show(s, c.storeScoped, c.Name, findCustomer) }

func findCustomer(ctx context.Context, o admin.API, store, name string) (*storefrontv1.Customer, error) {
	return o.FindCustomer(ctx, &adminv1.FindCustomerRequest{Store: store, Name: name})
}
