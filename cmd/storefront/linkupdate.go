package main

import (
	"context"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
)

type linkUpdateCmd struct {
	linkNamed
	Title           *string       `placeholder:"TITLE" help:"Title, 1 to 200 characters."`
	Pricing         *string       `enum:"FIXED,OPEN" placeholder:"PRICING" help:"FIXED or OPEN; changing it removes the other kind's amount."`
	Amount          amountOrNone  `placeholder:"N|none" help:"What a FIXED link asks for, above 0, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	MinAmount       amountOrNone  `placeholder:"N|none" help:"The least that an OPEN link takes, above 0, as --amount."`
	Description     textOrNone    `placeholder:"TEXT|none" help:"At most 5000 characters; none removes it."`
	CoverURL        textOrNone    `name:"cover-url" placeholder:"URL|none" help:"Address of the cover picture; none removes it."`
	ThankYouMessage textOrNone    `placeholder:"TEXT|none" help:"Shown to the buyer after paying, at most 2000 characters; none removes it."`
	ExpiresAt       instantOrNone `placeholder:"TIME|none" help:"When the link stops taking payments, such as 2026-12-31T23:59:59Z; none for never."`
	MaxPayments     countOrNone   `placeholder:"N|none" help:"How many payments it takes at most; none for no cap."`
}

// Run changes the link.
func (c *linkUpdateCmd) Run(s *session) error {
	in := &storefrontv1.UpdatePaymentLinkRequest{
		Title: c.Title, Pricing: enumOf[storefrontv1.PaymentLink_Pricing](pricings, c.Pricing),
	}
	var cleared []string
	c.Amount.put(&in.Amount, "amount", &cleared)
	c.MinAmount.put(&in.MinAmount, "min_amount", &cleared)
	c.Description.put(&in.Description, "description", &cleared)
	c.CoverURL.put(&in.CoverUrl, "cover_url", &cleared)
	c.ThankYouMessage.put(&in.ThankYouMessage, "thank_you_message", &cleared)
	c.ExpiresAt.put(&in.ExpiresAt, "expires_at", &cleared)
	c.MaxPayments.put(&in.MaxPayments, "max_payments", &cleared)
	in.UpdateMask = maskOf(in, "id", cleared...)
	if err := s.changes(in.UpdateMask); err != nil {
		return err
	}
	return callNamed(s, c.storeScoped, c.Name, findLink, whole,
		func(ctx context.Context, o admin.API, id string) (*storefrontv1.PaymentLink, error) {
			in.Id = id
			err := amounts{"amount": c.Amount.value, "min-amount": c.MinAmount.value}.settle(func() (string, error) {
				found, err := findLink(ctx, o, "", id)
				return found.GetCurrency(), err
			})
			if err != nil {
				return nil, err
			}
			return o.UpdatePaymentLink(ctx, in)
		})
}
