package main

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

type customerCmd struct {
	Create customerCreateCmd `cmd:"" help:"Create a customer."`
	List   customerListCmd   `cmd:"" help:"List a store's customers, newest first."`
	Show   customerShowCmd   `cmd:"" help:"Show a customer."`
	Update customerUpdateCmd `cmd:"" help:"Change a customer."`
	Forget customerForgetCmd `cmd:"" help:"Erase a customer's personal data: name, e-mail and phone, wherever they are stored."`
}

type customerCreateCmd struct {
	inStore
	Name  string `api:"name" clears:"" placeholder:"NAME" help:"Name, at most 200 characters."`
	Email string `api:"email" placeholder:"EMAIL" help:"E-mail; a customer needs an e-mail or a phone."`
	Phone string `api:"phone" placeholder:"PHONE" help:"Phone, in international form or as dialled in the store's country."`
}

func (c *customerCreateCmd) Run(s *invocation) error {
	make := func(o admin.API, ctx context.Context, in *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
		known, err := isKnown(ctx, o, in)
		if err != nil {
			return nil, err
		}
		made, err := o.CreateCustomer(ctx, in)
		if err == nil && known {
			s.printMessage("the store has a customer with this e-mail or phone already; this is it")
		}
		return made, err
	}
	return create(s, c.inStore, &storefrontv1.CreateCustomerRequest{}, make, messageJSON)
}

func isKnown(ctx context.Context, o admin.API, in *storefrontv1.CreateCustomerRequest) (bool, error) {
	for _, name := range []string{in.GetEmail(), in.GetPhone()} {
		if name == "" {
			continue
		}
		_, err := o.ResolveName(ctx, &adminv1.ResolveNameRequest{Kind: adminv1.ResolveNameRequest_CUSTOMER, Name: name})
		if !apierr.Is(err, apierr.CustomerNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

type customerUpdateCmd struct {
	storeScoped
	Customer string         `arg:"" name:"name" help:"The customer's id, e-mail or phone."`
	Name     string         `api:"name" clears:"" placeholder:"NAME" help:"Name, at most 200 characters."`
	Email    orNone[string] `api:"email" placeholder:"EMAIL|none" help:"E-mail; none removes it."`
	Phone    orNone[string] `api:"phone" placeholder:"PHONE|none" help:"Phone; none removes it."`
}

func (c *customerUpdateCmd) Run(s *invocation) error {
	in := &storefrontv1.UpdateCustomerRequest{}
	return change(s, c.storeScoped, c.Customer, customerName,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.Customer, error) {
			in.Id = id
			return o.UpdateCustomer(ctx, in)
		}, messageJSON, in)
}

type customerListCmd struct {
	paged
	Q string `name:"q" api:"q" clears:"" placeholder:"TEXT" help:"Text to find in name, e-mail or phone; a phone is also found by its digits."`
}

func (c *customerListCmd) Run(s *invocation) error {
	in := &storefrontv1.ListCustomersRequest{}
	return listPages(s, c.paged, customerTable, in, func(page *int64, size *int32) { in.Page, in.PageSize = page, size },
		admin.API.ListCustomers)
}

var customerTable = table[*storefrontv1.Customer]{[]column[*storefrontv1.Customer]{
	{name: "NAME", value: (*storefrontv1.Customer).GetName, cut: true, room: 24},
	{name: "EMAIL", value: (*storefrontv1.Customer).GetEmail, cut: true, room: 40},
	{name: "PHONE", value: (*storefrontv1.Customer).GetPhone},
	{name: "PAID", value: func(c *storefrontv1.Customer) string {
		return validate.FormatAmount(c.GetTotalPaid(), c.GetCurrency())
	}, optional: true},
	{name: "ORDERS", value: func(c *storefrontv1.Customer) string { return grouped(c.GetOrdersCount()) }, optional: true},
	{name: "CREATED", at: (*storefrontv1.Customer).GetCreatedAt, optional: true},
	{name: "ID", id: (*storefrontv1.Customer).GetId, optional: true},
}, messageJSON[*storefrontv1.Customer]}

type customerShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The customer's id, e-mail or phone."`
}

func (c *customerShowCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, customerName, getCustomer, messageJSON)
}

func getCustomer(ctx context.Context, o admin.API, id string) (*storefrontv1.Customer, error) {
	return o.GetCustomer(ctx, &storefrontv1.GetCustomerRequest{Id: id})
}
