package main

import (
	"context"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

type orderCmd struct {
	Create orderCreateCmd `cmd:"" help:"Record a PENDING order."`
	Pay    orderPayCmd    `cmd:"" help:"Tell that an order was paid."`
	Fail   orderFailCmd   `cmd:"" help:"Tell that the payment of an order failed."`
	Cancel orderCancelCmd `cmd:"" help:"Tell that an order was given up."`
	Refund orderRefundCmd `cmd:"" help:"Tell that a paid order was paid back."`
}

// Help shows an example.
func (orderCmd) Help() string {
	return "PENDING becomes PAID, FAILED or CANCELLED; FAILED becomes PAID by a late payment; PAID becomes REFUNDED.\n\nExample:\n\n    storefront order pay 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
}

type orderCreateCmd struct {
	place
	Store         string      `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Customer      string      `placeholder:"ID" help:"The customer's id; or say who it is with the next three."`
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
	draft := service.OrderDraft{
		CustomerID:    c.Customer,
		Buyer:         service.Buyer{Name: c.CustomerName, Email: c.CustomerEmail, Phone: c.CustomerPhone},
		PaymentLinkID: c.PaymentLink, Amount: (*int64)(c.Amount), Note: c.Note,
	}
	for _, line := range c.Product {
		draft.Lines = append(draft.Lines, service.OrderLine(line))
	}
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		recorded, err := o.CreateOrder(c.under(ctx), c.Store, draft)
		if err != nil {
			return err
		}
		return s.message(recorded)
	})
}

// once is the setting of what a checkout would repeat.
type once struct {
	IdempotencyKey string `placeholder:"KEY" help:"Said again with the same key within 24 hours, the command changes nothing and prints the same."`
}

func (o once) under(ctx context.Context) context.Context {
	return service.WithIdempotencyKey(ctx, o.IdempotencyKey)
}

// orderMove is a command that tells what became of an order.
type orderMove struct {
	place
	ID string `arg:"" help:"The order's id."`
	once
}

func (c *orderMove) run(s *session, move func(operations, context.Context, string) (*storefrontv1.Order, error)) error {
	return s.operate(c.place, service.Options{}, func(ctx context.Context, o operations) error {
		moved, err := move(o, c.under(ctx), c.ID)
		if err != nil {
			return err
		}
		return s.message(moved)
	})
}

type (
	orderPayCmd    struct{ orderMove }
	orderFailCmd   struct{ orderMove }
	orderCancelCmd struct{ orderMove }
	orderRefundCmd struct{ orderMove }
)

func moveHelpOf(verb, what string) string {
	return what + " Telling it again changes nothing and sends nothing; prints the Order.\n\nExample:\n\n    storefront order " + verb + " 01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"
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

// Run pays the order.
func (c *orderPayCmd) Run(s *session) error { return c.run(s, operations.PayOrder) }

// Run fails the order.
func (c *orderFailCmd) Run(s *session) error { return c.run(s, operations.FailOrder) }

// Run cancels the order.
func (c *orderCancelCmd) Run(s *session) error { return c.run(s, operations.CancelOrder) }

// Run refunds the order.
func (c *orderRefundCmd) Run(s *session) error { return c.run(s, operations.RefundOrder) }
