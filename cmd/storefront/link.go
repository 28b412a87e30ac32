package main

import (
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/operator"
)

type linkCmd struct {
	Disable linkDisableCmd `cmd:"" help:"Make a payment link take no payments until it is enabled again."`
}

// Help shows an example.
func (linkCmd) Help() string {
	return "Example:\n\n    storefront link disable 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

type linkDisableCmd struct {
	place
	ID string `arg:"" help:"The payment link's id."`
}

// Help shows an example.
func (linkDisableCmd) Help() string {
	return "Prints the Payment link. The API's POST /v1/payment-links/{id}/enable takes it back.\n\nExample:\n\n    storefront link disable 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Run disables the link.
func (c *linkDisableCmd) Run(s *session) error {
	return call(s, c.place, &adminv1.DisablePaymentLinkRequest{Id: c.ID}, operator.API.DisablePaymentLink)
}
