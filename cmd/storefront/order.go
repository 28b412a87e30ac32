package main

import (
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/operator"
)

type orderCmd struct {
	Create orderCreateCmd `cmd:"" help:"Record a PENDING order."`
	Pay    orderPayCmd    `cmd:"" help:"Mark an order as paid."`
	Fail   orderFailCmd   `cmd:"" help:"Mark the payment of an order as failed."`
	Cancel orderCancelCmd `cmd:"" help:"Cancel an order."`
	Refund orderRefundCmd `cmd:"" help:"Mark a paid order as refunded."`
}

// Help shows an example.
func (orderCmd) Help() string {
	return "PENDING becomes PAID, FAILED or CANCELLED; FAILED becomes PAID by a late payment; PAID becomes REFUNDED.\n\nExample:\n\n    storefront order pay 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

type orderCreateCmd struct {
	place
	Store         string      `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Customer      string      `placeholder:"ID" help:"The customer's id; or describe the buyer with the next three."`
	CustomerName  string      `placeholder:"NAME" help:"Name of the buyer."`
	CustomerEmail *string     `placeholder:"EMAIL" help:"E-mail of the buyer; a new buyer is a new customer."`
	CustomerPhone *string     `placeholder:"PHONE" help:"Phone of the buyer."`
	Product       []orderLine `sep:"none" placeholder:"ID[:QTY]" help:"A product and how many of it; repeat for more."`
	PaymentLink   string      `placeholder:"ID" help:"The payment link that the order comes through, in place of products."`
	Amount        *amount     `placeholder:"N" help:"What the buyer chose to pay through an OPEN payment link, in minor units."`
	Note          *string     `placeholder:"TEXT" help:"What the buyer left."`
	once
}

// Help shows an example.
func (orderCreateCmd) Help() string {
	return "Prints the Order.\n\nExample:\n\n    storefront order create --store douala --customer-name \"Awa Ngo\" --customer-phone 670000001 --product 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f:2\n    storefront order create --store douala --customer-email awa@example.com --payment-link 01936d2e-7a11-7c5e-9d0f-3a2b1c4d5e6f --amount 5000"
}

// Run records the order.
func (c *orderCreateCmd) Run(s *session) error {
	described := c.CustomerName != "" || c.CustomerEmail != nil || c.CustomerPhone != nil
	switch {
	case c.Customer != "" && described:
		return usage("--customer cannot be used with --customer-name, --customer-email or --customer-phone")
	case c.Customer == "" && c.CustomerEmail == nil && c.CustomerPhone == nil:
		return usage("name the customer: --customer, or --customer-email or --customer-phone")
	case c.PaymentLink == "" && len(c.Product) == 0:
		return usage("name what is bought: --product or --payment-link")
	case c.PaymentLink != "" && len(c.Product) > 0:
		return usage("--product cannot be used with --payment-link")
	case c.PaymentLink == "" && c.Amount != nil:
		return usage("--amount goes with --payment-link only")
	}
	in := &adminv1.CreateOrderRequest{
		Store: c.Store, CustomerId: c.Customer, Name: c.CustomerName, Email: c.CustomerEmail, Phone: c.CustomerPhone,
		PaymentLinkId: c.PaymentLink, Amount: (*int64)(c.Amount), Note: c.Note, IdempotencyKey: c.IdempotencyKey,
	}
	for _, line := range c.Product {
		in.Items = append(in.Items, &adminv1.CreateOrderRequest_Item{ProductId: line.id, Quantity: line.quantity})
	}
	return call(s, c.place, in, operator.API.CreateOrder)
}

// once is the setting of what a checkout would repeat.
type once struct {
	IdempotencyKey string `placeholder:"KEY" help:"Repeated with the same key within 24 hours, the command changes nothing and prints the same."`
}

// orderMove is a command that moves an order.
type orderMove struct {
	place
	ID string `arg:"" help:"The order's id."`
	once
}

type (
	orderPayCmd    struct{ orderMove }
	orderFailCmd   struct{ orderMove }
	orderCancelCmd struct{ orderMove }
	orderRefundCmd struct{ orderMove }
)

func moveHelpOf(verb, what string) string {
	return what + " Repeating it changes nothing and sends nothing; prints the Order.\n\nExample:\n\n    storefront order " + verb + " 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

// Help shows an example.
func (orderPayCmd) Help() string {
	return moveHelpOf("pay", "Sends order.paid, and payment_link.paid for an order through a payment link.")
}

// Help shows an example.
func (orderFailCmd) Help() string { return moveHelpOf("fail", "Sends order.failed.") }

// Help shows an example.
func (orderCancelCmd) Help() string { return moveHelpOf("cancel", "Sends no event.") }

// Help shows an example.
func (orderRefundCmd) Help() string {
	return moveHelpOf("refund", "Takes the amount out of what the customer paid; sends no event.")
}

// Run marks the order as paid.
func (c *orderPayCmd) Run(s *session) error {
	return call(s, c.place, &adminv1.PayOrderRequest{Id: c.ID, IdempotencyKey: c.IdempotencyKey}, operator.API.PayOrder)
}

// Run marks the order as failed.
func (c *orderFailCmd) Run(s *session) error {
	return call(s, c.place, &adminv1.FailOrderRequest{Id: c.ID, IdempotencyKey: c.IdempotencyKey}, operator.API.FailOrder)
}

// Run cancels the order.
func (c *orderCancelCmd) Run(s *session) error {
	return call(s, c.place, &adminv1.CancelOrderRequest{Id: c.ID, IdempotencyKey: c.IdempotencyKey}, operator.API.CancelOrder)
}

// Run marks the order as refunded.
func (c *orderRefundCmd) Run(s *session) error {
	return call(s, c.place, &adminv1.RefundOrderRequest{Id: c.ID, IdempotencyKey: c.IdempotencyKey}, operator.API.RefundOrder)
}
