package main

import (
	"cmp"
	"context"

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
	place
	Store         string      `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Customer      string      `placeholder:"NAME" help:"The customer's id, e-mail or phone; or describe the buyer with the next three."`
	CustomerName  string      `clears:"" placeholder:"NAME" help:"Name of the buyer."`
	CustomerEmail *string     `placeholder:"EMAIL" help:"E-mail of the buyer; a new buyer is a new customer."`
	CustomerPhone *string     `placeholder:"PHONE" help:"Phone of the buyer."`
	Product       []orderLine `sep:"none" placeholder:"NAME[:QTY]" help:"A product, by id or slug, and how many of it; repeat for more."`
	PaymentLink   string      `placeholder:"NAME" help:"The payment link that the order comes through, by id or code, in place of products."`
	Amount        *amount     `placeholder:"N" help:"What the buyer chose to pay through an OPEN payment link, in minor units of the store's currency, such as 1550, or with a decimal point in the currency itself, such as 15.50."`
	Note          *string     `clears:"" placeholder:"TEXT" help:"What the buyer left."`
	once
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
		Store: c.Store, Name: c.CustomerName, Email: c.CustomerEmail, Phone: c.CustomerPhone,
		Amount: c.Amount.units(), Note: c.Note, IdempotencyKey: c.IdempotencyKey,
	}
	return s.operate(c.place, func(ctx context.Context, o admin.API) error {
		if err := c.name(ctx, o, in); err != nil {
			return err
		}
		made, err := o.CreateOrder(ctx, in)
		if err != nil {
			return err
		}
		return s.print(whole(made))
	})
}

// name puts the ids of what the command names into the request, and its amount.
func (c *orderCreateCmd) name(ctx context.Context, o admin.API, in *adminv1.CreateOrderRequest) (err error) {
	if err := (amounts{"amount": c.Amount}).settle(currencyOf(ctx, o, c.Store)); err != nil {
		return err
	}
	within := storeScoped{c.place, c.Store}
	if c.Customer != "" {
		if in.CustomerId, err = idOf(ctx, o, within, c.Customer, findCustomer); err != nil {
			return err
		}
	}
	if c.PaymentLink != "" {
		if in.PaymentLinkId, err = idOf(ctx, o, within, c.PaymentLink, findLink); err != nil {
			return err
		}
	}
	for _, line := range c.Product {
		id, err := idOf(ctx, o, within, line.product, findProduct)
		if err != nil {
			return err
		}
		in.Items = append(in.Items, &adminv1.CreateOrderRequest_Item{ProductId: id, Quantity: line.quantity})
	}
	return nil
}

func findOrder(ctx context.Context, o admin.API, store, name string) (*storefrontv1.Order, error) {
	return o.FindOrder(ctx, &adminv1.FindOrderRequest{Store: store, Name: name})
}

type orderListCmd struct {
	paged
	Status *string  `enum:"PENDING,PAID,FAILED,CANCELLED,REFUNDED" placeholder:"STATUS" help:"Only orders of this status: PENDING, PAID, FAILED, CANCELLED or REFUNDED."`
	From   *instant `aliases:"since" placeholder:"TIME" help:"Only orders created at this time or later; also how long ago, such as 1h or 7d. --since means the same."`
	To     *instant `placeholder:"TIME" help:"Only orders created before this time, in the same forms."`
}

// Run lists the orders.
func (c *orderListCmd) Run(s *session) error {
	return listPages(s, c.paged, orderTable, func(ctx context.Context, o admin.API, store string, page *int64, size *int32) (
		[]*storefrontv1.Order, int64, error) {
		from, err := c.From.message(ctx, o)
		if err != nil {
			return nil, 0, err
		}
		to, err := c.To.message(ctx, o)
		if err != nil {
			return nil, 0, err
		}
		out, err := o.ListOrders(ctx, &adminv1.ListOrdersRequest{
			Store: store, Page: page, PageSize: size, Status: enumOf[storefrontv1.Order_Status](storefrontv1.Order_Status_value, c.Status),
			From: from, To: to,
		})
		return out.GetData(), out.GetTotal(), err
	})
}

var orderTable = table[*storefrontv1.Order]{"REFERENCE,STATUS,AMOUNT,CUSTOMER~,CREATED@,ID?",
	func(o *storefrontv1.Order) []string {
		return []string{
			o.GetReference(), o.GetStatus().String(), validate.FormatAmount(o.GetAmount(), o.GetCurrency()), buyerOf(o.GetCustomer()),
			when(o.GetCreatedAt()), o.GetId(),
		}
	}, whole[*storefrontv1.Order]}

// buyerOf names the buyer of an order.
func buyerOf(c *storefrontv1.Order_Customer) string {
	return cmp.Or(c.GetName(), c.GetEmail(), c.GetPhone())
}

type orderShowCmd struct {
	storeScoped
	Name string `arg:"" help:"The order's id or reference."`
}

// Run shows the order.
func (c *orderShowCmd) Run(s *session) error { return show(s, c.storeScoped, c.Name, findOrder) }

// once is the setting of what a checkout would repeat.
type once struct {
	IdempotencyKey string `placeholder:"KEY" help:"Repeated with the same key within 24 hours, the command changes nothing and prints the same."`
}

// orderMove is a command that moves an order.
type orderMove struct {
	storeScoped
	Name string `arg:"" help:"The order's id or reference."`
	once
}

// move calls the method that moves the order.
func (c *orderMove) move(s *session,
	method func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error)) error {
	return callNamed(s, c.storeScoped, c.Name, findOrder, whole, method)
}

type (
	orderPayCmd    struct{ orderMove }
	orderFailCmd   struct{ orderMove }
	orderCancelCmd struct{ orderMove }
	orderRefundCmd struct{ orderMove }
)

// Run marks the order as paid.
func (c *orderPayCmd) Run(s *session) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.PayOrder(ctx, &adminv1.PayOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

// Run marks the order as failed.
func (c *orderFailCmd) Run(s *session) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.FailOrder(ctx, &adminv1.FailOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

// Run cancels the order.
func (c *orderCancelCmd) Run(s *session) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.CancelOrder(ctx, &adminv1.CancelOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}

// Run marks the order as refunded.
func (c *orderRefundCmd) Run(s *session) error {
	return c.move(s, func(ctx context.Context, o admin.API, id string) (*storefrontv1.Order, error) {
		return o.RefundOrder(ctx, &adminv1.RefundOrderRequest{Id: id, IdempotencyKey: c.IdempotencyKey})
	})
}
