package main

import (
	"context"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/validate"
)

type linkCmd struct {
	Create  linkCreateCmd  `cmd:"" help:"Create a payment link."`
	List    linkListCmd    `cmd:"" help:"List a store's payment links, newest first."`
	Show    linkShowCmd    `cmd:"" help:"Show a payment link."`
	Update  linkUpdateCmd  `cmd:"" help:"Change a payment link."`
	Enable  linkEnableCmd  `cmd:"" help:"Make a disabled payment link take payments again."`
	Disable linkDisableCmd `cmd:"" help:"Make a payment link take no payments until it is enabled again."`
}

type linkCreateCmd struct {
	inNamedStore
	Title           string        `api:"title" required:"" placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Pricing         *string       `api:"pricing" enum:"FIXED,OPEN" placeholder:"PRICING" help:"FIXED, the link sets --amount, or OPEN, the buyer chooses from --min-amount up (default: the one whose amount is given)."`
	Amount          amount        `api:"amount" placeholder:"N" help:"The price of a FIXED link, above 0, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	MinAmount       amount        `api:"minAmount" placeholder:"N" help:"The minimum amount of an OPEN link, above 0, as --amount."`
	Description     string        `api:"description" clears:"" placeholder:"TEXT" help:"At most 5000 characters."`
	CoverURL        string        `api:"coverUrl" name:"cover-url" clears:"" placeholder:"URL" help:"URL of the cover picture."`
	ThankYouMessage string        `api:"thankYouMessage" clears:"" placeholder:"TEXT" help:"Shown to the buyer after paying, at most 2000 characters."`
	ExpiresAt       orNone[date]  `api:"expiresAt" placeholder:"TIME" help:"When the link stops taking payments, such as 2026-12-31T23:59:59Z; a date alone means 00:00 UTC on it (default: never)."`
	MaxPayments     orNone[count] `api:"maxPayments" placeholder:"N" help:"Maximum number of payments (default: no limit)."`
}

func (c *linkCreateCmd) Run(s *invocation) error {
	in := &storefrontv1.CreatePaymentLinkRequest{}
	switch fixed, open := s.given["amount"], s.given["min-amount"]; {
	case c.Pricing != nil:
	case fixed && !open:
		in.Pricing = storefrontv1.PaymentLink_FIXED
	case open && !fixed:
		in.Pricing = storefrontv1.PaymentLink_OPEN
	default:
		return usage("name the price: --amount for a FIXED link, or --min-amount for an OPEN one")
	}
	return create(s, inStore(c.inNamedStore), in, admin.API.CreatePaymentLink, messageJSON)
}

type linkListCmd struct {
	paged
	Status *string `api:"status" enum:"active,inactive" placeholder:"STATUS" help:"active, only links that take payments now, or inactive, only those that are disabled, expired or exhausted."`
}

func (c *linkListCmd) Run(s *invocation) error {
	in := &storefrontv1.ListPaymentLinksRequest{}
	return listPages(s, c.paged, linkTable, in, func(page *int64, size *int32) { in.Page, in.PageSize = page, size },
		admin.API.ListPaymentLinks)
}

var linkTable = table[*storefrontv1.PaymentLink]{[]column[*storefrontv1.PaymentLink]{
	{name: "CODE", value: (*storefrontv1.PaymentLink).GetCode},
	{name: "TITLE", value: (*storefrontv1.PaymentLink).GetTitle, cut: true},
	{name: "AVAILABILITY", value: func(l *storefrontv1.PaymentLink) string { return l.GetAvailability().String() }},
	{name: "PRICE", value: priceOf},
	{name: "PAID", value: func(l *storefrontv1.PaymentLink) string {
		return validate.FormatAmount(l.GetPaidAmount(), l.GetCurrency())
	}},
	{name: "PAYMENTS", value: func(l *storefrontv1.PaymentLink) string { return grouped(l.GetPaidCount()) }, optional: true},
	{name: "CREATED", at: (*storefrontv1.PaymentLink).GetCreatedAt, optional: true},
	{name: "ID", id: (*storefrontv1.PaymentLink).GetId, optional: true},
}, messageJSON[*storefrontv1.PaymentLink]}

// priceOf returns "from" and the minimum for an open link.
func priceOf(l *storefrontv1.PaymentLink) string {
	if l.GetPricing() == storefrontv1.PaymentLink_OPEN {
		return "from " + validate.FormatAmount(l.GetMinAmount(), l.GetCurrency())
	}
	return validate.FormatAmount(l.GetAmount(), l.GetCurrency())
}

type linkNamed struct {
	storeScoped
	Name string `arg:"" help:"The payment link's id or code."`
}

type linkUpdateCmd struct {
	linkNamed
	Title           string         `api:"title" placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Pricing         *string        `api:"pricing" enum:"FIXED,OPEN" placeholder:"PRICING" help:"FIXED or OPEN; changing it removes the other kind's amount."`
	Amount          orNone[amount] `api:"amount" placeholder:"N|none" help:"The price of a FIXED link, above 0, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	MinAmount       orNone[amount] `api:"minAmount" placeholder:"N|none" help:"The minimum amount of an OPEN link, above 0, as --amount."`
	Description     orNone[string] `api:"description" placeholder:"TEXT|none" help:"At most 5000 characters; none removes it."`
	CoverURL        orNone[string] `api:"coverUrl" name:"cover-url" placeholder:"URL|none" help:"URL of the cover picture; none removes it."`
	ThankYouMessage orNone[string] `api:"thankYouMessage" placeholder:"TEXT|none" help:"Shown to the buyer after paying, at most 2000 characters; none removes it."`
	ExpiresAt       orNone[date]   `api:"expiresAt" placeholder:"TIME|none" help:"When the link stops taking payments, such as 2026-12-31T23:59:59Z; a date alone means 00:00 UTC on it; none for never."`
	MaxPayments     orNone[count]  `api:"maxPayments" placeholder:"N|none" help:"Maximum number of payments; none for no limit."`
}

func (c *linkUpdateCmd) Run(s *invocation) error {
	in := &storefrontv1.UpdatePaymentLinkRequest{}
	return change(s, c.storeScoped, c.Name, linkName,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
			in.Id = id
			return o.UpdatePaymentLink(ctx, in)
		}, messageJSON, in)
}

type (
	linkShowCmd    struct{ linkNamed }
	linkEnableCmd  struct{ linkNamed }
	linkDisableCmd struct{ linkNamed }
)

func (c *linkShowCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, linkName, func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
		return o.GetPaymentLink(ctx, &storefrontv1.GetPaymentLinkRequest{Id: id})
	}, messageJSON)
}

func (c *linkEnableCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, linkName, func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
		return o.EnablePaymentLink(ctx, &storefrontv1.EnablePaymentLinkRequest{Id: id})
	}, messageJSON)
}

func (c *linkDisableCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, linkName, func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
		return o.DisablePaymentLink(ctx, &adminv1.DisablePaymentLinkRequest{Id: id})
	}, messageJSON)
}
