package main

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/validate"
)

type orderCmd struct {
	Create orderCreateCmd `cmd:"" help:"Record a PENDING order."`
	List   orderListCmd   `cmd:"" help:"List a store's orders, newest first."`
	Show   orderShowCmd   `cmd:"" help:"Show an order."`
	Pay    orderPayCmd    `cmd:"" help:"Mark an order as paid."`
	Fail   orderFailCmd   `cmd:"" help:"Mark the payment of an order as failed."`
	Cancel orderCancelCmd `cmd:"" help:"Cancel an order."`
	Refund orderRefundCmd `cmd:"" help:"Mark a paid order as refunded."`
}

type orderCreateCmd struct {
	inNamedStore
	Customer      string      `placeholder:"NAME" help:"The customer's id, e-mail or phone; or describe the buyer with the next three."`
	CustomerName  string      `api:"name" clears:"" placeholder:"NAME" help:"Name of the buyer."`
	CustomerEmail string      `api:"email" placeholder:"EMAIL" help:"E-mail of the buyer; a new buyer is a new customer."`
	CustomerPhone string      `api:"phone" placeholder:"PHONE" help:"Phone of the buyer."`
	Product       []orderLine `sep:"none" placeholder:"NAME[:QTY]" help:"A product, by id or slug, and how many of it; repeat for more."`
	PaymentLink   string      `placeholder:"NAME" help:"The payment link that the order comes through, by id or code, in place of products."`
	Amount        amount      `api:"amount" placeholder:"N" help:"The amount that the buyer chose on an OPEN payment link, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	Note          string      `api:"note" clears:"" placeholder:"TEXT" help:"The buyer's note."`
	idempotencyFlag
}

func (c *orderCreateCmd) Run(s *invocation) error {
	switch {
	case c.Customer != "" && cmp.Or(c.CustomerName, c.CustomerEmail, c.CustomerPhone) != "":
		return usage("--customer cannot be used with --customer-name, --customer-email or --customer-phone")
	case cmp.Or(c.Customer, c.CustomerEmail, c.CustomerPhone) == "":
		return usage("name the customer: --customer, or --customer-email or --customer-phone")
	case c.PaymentLink == "" && len(c.Product) == 0:
		return usage("name what is bought: --product or --payment-link")
	case c.PaymentLink != "" && len(c.Product) > 0:
		return usage("--product cannot be used with --payment-link")
	case c.PaymentLink == "" && s.given["amount"]:
		return usage("--amount goes with --payment-link only")
	}
	record := func(o admin.API, ctx context.Context, in *adminv1.CreateOrderRequest) (*storefrontv1.Order, error) {
		if err := c.name(ctx, o, in); err != nil {
			return nil, err
		}
		made, err := o.CreateOrder(ctx, in)
		if buyer := made.GetCustomer(); err == nil && c.differs(buyer) {
			s.printMessage("the store has the customer " + buyer.GetId() + " with this e-mail or phone already; the customer keeps its " +
				"own name, e-mail and phone, which are those of the order")
		}
		return made, err
	}
	return create(s, inStore(c.inNamedStore), &adminv1.CreateOrderRequest{}, record, messageJSON)
}

var noDigits = regexp.MustCompile(`\D`)

// differs reports whether the flags give the buyer another name, e-mail or phone, also in its national form.
func (c *orderCreateCmd) differs(buyer *storefrontv1.Order_Customer) bool {
	same := func(given, kept string) bool { return given == "" || strings.EqualFold(strings.TrimSpace(given), kept) }
	return !same(c.CustomerName, buyer.GetName()) || !same(c.CustomerEmail, buyer.GetEmail()) ||
		!strings.HasSuffix(buyer.GetPhone(), strings.TrimLeft(noDigits.ReplaceAllString(c.CustomerPhone, ""), "0"))
}

// name puts the ids of the named products, customer and payment link into the request.
func (c *orderCreateCmd) name(ctx context.Context, o admin.API, in *adminv1.CreateOrderRequest) (err error) {
	if c.Customer != "" {
		if _, in.CustomerId, err = customerName(ctx, o, c.Store, c.Customer); err != nil {
			return err
		}
	}
	if c.PaymentLink != "" {
		if _, in.PaymentLinkId, err = linkName(ctx, o, c.Store, c.PaymentLink); err != nil {
			return err
		}
	}
	for _, line := range c.Product {
		_, id, err := productName(ctx, o, c.Store, line.product)
		if err != nil {
			return err
		}
		in.Items = append(in.Items, &adminv1.CreateOrderRequest_Item{ProductId: id, Quantity: line.quantity})
	}
	return nil
}

type orderListCmd struct {
	paged
	Status *string `api:"status" enum:"PENDING,PAID,FAILED,CANCELLED,REFUNDED" placeholder:"STATUS" help:"Only orders of this status: PENDING, PAID, FAILED, CANCELLED or REFUNDED."`
	From   instant `api:"from" aliases:"since" placeholder:"TIME" help:"Only orders created at this time or later; also how long ago, such as 1h or 7d, or a date, which means 00:00 UTC on it. --since means the same."`
	To     instant `api:"to" placeholder:"TIME" help:"Only orders created before this time, in the same forms."`
}

func (c *orderListCmd) Run(s *invocation) error {
	in := &storefrontv1.ListOrdersRequest{}
	return listPages(s, c.paged, orderTable, in, func(page *int64, size *int32) { in.Page, in.PageSize = page, size },
		admin.API.ListOrders)
}

var orderTable = table[*storefrontv1.Order]{[]column[*storefrontv1.Order]{
	{name: "REFERENCE", value: (*storefrontv1.Order).GetReference},
	{name: "STATUS", value: func(o *storefrontv1.Order) string { return o.GetStatus().String() }},
	{name: "AMOUNT", value: func(o *storefrontv1.Order) string { return validate.FormatAmount(o.GetAmount(), o.GetCurrency()) }},
	{name: "CUSTOMER", value: buyerOf, cut: true},
	{name: "CREATED", at: (*storefrontv1.Order).GetCreatedAt},
	{name: "ID", id: (*storefrontv1.Order).GetId, optional: true},
}, messageJSON[*storefrontv1.Order]}

func buyerOf(o *storefrontv1.Order) string {
	return cmp.Or(o.GetCustomer().GetName(), o.GetCustomer().GetEmail(), o.GetCustomer().GetPhone())
}

type orderShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The order's id or reference."`
}

func (c *orderShowCmd) Run(s *invocation) error {
	return act(s, c.storeScoped, c.Name, orderName, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.GetOrder(ctx, &storefrontv1.GetOrderRequest{Id: id})
	}, messageJSON)
}

type idempotencyFlag struct {
	IdempotencyKey string `api:"idempotencyKey" placeholder:"KEY" help:"Repeated with the same key within 24 hours, the command changes nothing and prints the same."`
}

type orderNamed struct {
	storeScoped
	Name string `arg:"" help:"The order's id or reference."`
	idempotencyFlag
}

type (
	orderPayCmd    struct{ orderNamed }
	orderFailCmd   struct{ orderNamed }
	orderCancelCmd struct{ orderNamed }
	orderRefundCmd struct{ orderNamed }
)

func (c *orderPayCmd) Run(s *invocation) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.PayOrder(ctx, &adminv1.PayOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

func (c *orderFailCmd) Run(s *invocation) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.FailOrder(ctx, &adminv1.FailOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

func (c *orderCancelCmd) Run(s *invocation) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.CancelOrder(ctx, &adminv1.CancelOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

func (c *orderRefundCmd) Run(s *invocation) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.RefundOrder(ctx, &adminv1.RefundOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

func (c *orderNamed) move(s *invocation, method func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error)) error {
	return act(s, c.storeScoped, c.Name, orderName, method, messageJSON)
}
