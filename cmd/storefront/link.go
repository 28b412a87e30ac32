package main

import (
	"context"
	"strconv"

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

// pricings are the values of --pricing.
var pricings = storefrontv1.PaymentLink_Pricing_value

type linkCreateCmd struct {
	place
	Store           string        `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Title           string        `required:"" placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Pricing         *string       `enum:"FIXED,OPEN" placeholder:"PRICING" help:"FIXED, the link sets --amount, or OPEN, the buyer chooses from --min-amount up (default: the one whose amount is given)."`
	Amount          *amount       `placeholder:"N" help:"What a FIXED link asks for, above 0, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	MinAmount       *amount       `placeholder:"N" help:"The least that an OPEN link takes, above 0, as --amount."`
	Description     *string       `clears:"" placeholder:"TEXT" help:"At most 5000 characters."`
	CoverURL        *string       `name:"cover-url" clears:"" placeholder:"URL" help:"Address of the cover picture."`
	ThankYouMessage *string       `clears:"" placeholder:"TEXT" help:"Shown to the buyer after paying, at most 2000 characters."`
	ExpiresAt       instantOrNone `placeholder:"TIME" help:"When the link stops taking payments, such as 2026-12-31T23:59:59Z (default: never)."`
	MaxPayments     countOrNone   `placeholder:"N" help:"How many payments it takes at most (default: no cap)."`
}

// Run creates the link.
func (c *linkCreateCmd) Run(s *session) error {
	in := &adminv1.CreatePaymentLinkRequest{
		Store: c.Store, Title: c.Title, Amount: c.Amount.units(), MinAmount: c.MinAmount.units(), Description: c.Description,
		CoverUrl: c.CoverURL, ThankYouMessage: c.ThankYouMessage, ExpiresAt: c.ExpiresAt.value, MaxPayments: c.MaxPayments.value,
	}
	switch {
	case c.Pricing != nil:
		in.Pricing = storefrontv1.PaymentLink_Pricing(pricings[*c.Pricing])
	case c.Amount != nil && c.MinAmount == nil:
		in.Pricing = storefrontv1.PaymentLink_FIXED
	case c.MinAmount != nil && c.Amount == nil:
		in.Pricing = storefrontv1.PaymentLink_OPEN
	default:
		return usage("name the price: --amount for a FIXED link, or --min-amount for an OPEN one")
	}
	return callAndPrint(s, c.place, in,
		func(o admin.API, ctx context.Context, in *adminv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
			if err := (amounts{"amount": c.Amount, "min-amount": c.MinAmount}).settle(currencyOf(ctx, o, c.Store)); err != nil {
				return nil, err
			}
			return o.CreatePaymentLink(ctx, in)
		}, whole)
}

type linkListCmd struct {
	paged
	Status *string `enum:"active,inactive" placeholder:"STATUS" help:"active, only links that take payments now, or inactive, only those that are disabled, expired or exhausted."`
}

// Run lists the links.
func (c *linkListCmd) Run(s *session) error {
	return listPages(s, c.paged, linkTable, func(ctx context.Context, o admin.API, store string, page *int64, size *int32) (
		[]*storefrontv1.PaymentLink, int64, error) {
		out, err := o.ListPaymentLinks(ctx, &adminv1.ListPaymentLinksRequest{
			Store: store, Page: page, PageSize: size,
			Status: enumOf[storefrontv1.ListPaymentLinksRequest_Status](storefrontv1.ListPaymentLinksRequest_Status_value, c.Status),
		})
		return out.GetData(), out.GetTotal(), err
	})
}

var linkTable = table[*storefrontv1.PaymentLink]{"CODE,TITLE~,AVAILABILITY,PRICE,PAID,PAYMENTS?,CREATED@?,ID?",
	func(l *storefrontv1.PaymentLink) []string {
		price := validate.FormatAmount(l.GetAmount(), l.GetCurrency())
		if l.GetPricing() == storefrontv1.PaymentLink_OPEN {
			price = "from " + validate.FormatAmount(l.GetMinAmount(), l.GetCurrency())
		}
		return []string{
			l.GetCode(), l.GetTitle(), l.GetAvailability().String(), price, validate.FormatAmount(l.GetPaidAmount(), l.GetCurrency()),
			strconv.Itoa(int(l.GetPaidCount())),
			when(l.GetCreatedAt()), l.GetId(),
		}
	}, whole[*storefrontv1.PaymentLink]}

// linkNamed is a command that needs nothing but a payment link.
type linkNamed struct {
	storeScoped
	Name string `arg:"" help:"The payment link's id or code."`
}

func findLink(ctx context.Context, o admin.API, store, name string) (*storefrontv1.PaymentLink, error) {
	return o.FindPaymentLink(ctx, &adminv1.FindPaymentLinkRequest{Store: store, Name: name})
}

type linkShowCmd struct{ linkNamed }

// Run shows the link.
func (c *linkShowCmd) Run(s *session) error { return show(s, c.storeScoped, c.Name, findLink) }

type linkEnableCmd struct{ linkNamed }

// Run enables the link.
func (c *linkEnableCmd) Run(s *session) error {
	return callNamed(s, c.storeScoped, c.Name, findLink, whole,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
			return o.EnablePaymentLink(ctx, &storefrontv1.EnablePaymentLinkRequest{Id: id})
		})
}

type linkDisableCmd struct{ linkNamed }

// Run disables the link.
func (c *linkDisableCmd) Run(s *session) error {
	return callNamed(s, c.storeScoped, c.Name, findLink, whole,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
			return o.DisablePaymentLink(ctx, &adminv1.DisablePaymentLinkRequest{Id: id})
		})
}
