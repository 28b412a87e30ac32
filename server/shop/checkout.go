package shop

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/orderitem"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// OrderDraft is an order to create, for products or through a payment link.
//
// A hash of its JSON is stored with an idempotency key: keep new fields in alphabetical order, with omitzero.
type OrderDraft struct {
	// Amount is the amount that the buyer chose for an OPEN payment link, in minor units; otherwise nil.
	Amount *int64 `json:",omitzero"`
	Buyer  Buyer  `json:",omitzero"`
	// CustomerID is the customer's id. If it is empty, the order is for Buyer, who becomes a customer if unknown.
	CustomerID string      `json:",omitzero"`
	Lines      []OrderLine `json:",omitzero"`
	Note       *string     `json:",omitzero"`
	// PaymentLinkID is empty for an order from the catalogue.
	PaymentLinkID string `json:",omitzero"`
}

// itemsAtOnce is how many items one statement inserts: a statement has at most 32,766 parameters.
const itemsAtOnce = 2000

// OrderLine is a product of the store and its quantity, at least 1.
type OrderLine struct {
	ProductID string `json:",omitzero"`
	Quantity  int32  `json:",omitzero"`
}

// RecordOrder creates a PENDING order. It locks the payment link until the commit, so that the link stays available.
func (s *Shop) RecordOrder(ctx context.Context, d OrderDraft) (*storefrontv1.Order, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.check(t); err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), Once("order.create", d, func(c *hook.Change) (*storefrontv1.Order, error) {
		// Lock every row first, the payment link's too, because completeOrCreate asks for the time.
		buyer, err := lockBuyer(c, d)
		if err != nil {
			return nil, err
		}
		var link *ent.PaymentLink
		var lines []pricedLine
		var amount int64
		if d.PaymentLinkID != "" {
			link, amount, err = linkToPay(c, d)
		} else {
			lines, amount, err = linesOf(c, d.Lines)
		}
		if err != nil {
			return nil, err
		}
		known := buyer != nil
		if d.CustomerID == "" {
			newBuyer := d.Buyer.row()
			newBuyer.OrdersCount = 1 // the stored customer, and the event that shows it, count this order
			if buyer, err = completeOrCreate(c, buyer, newBuyer); err != nil {
				return nil, err
			}
		}
		if known && buyer.OrdersCount == math.MaxInt32 {
			return nil, apierr.New(apierr.TotalLimit, "The customer has as many orders as can be counted.")
		}
		now := c.Time()
		create := c.Tx.Order.Create().SetID(id.At(now)).SetStoreID(t.ID).SetCustomerID(buyer.ID).SetReference("ORD-" + code(10)).
			SetAmount(amount).SetPlatformFeePercent(t.PlatformFeePercent).SetNillableNote(d.Note).SetCreatedAt(now).SetUpdatedAt(now)
		if link != nil {
			create.SetPaymentLinkID(link.ID)
		}
		row, err := create.Save(c)
		if err != nil {
			return nil, fmt.Errorf("record order: %w", err)
		}
		creates := make([]*ent.OrderItemCreate, len(lines))
		for i, l := range lines {
			creates[i] = c.Tx.OrderItem.Create().SetID(id.At(now)).SetStoreID(t.ID).SetOrderID(row.ID).SetPosition(int32(i)).
				SetProductID(l.product.ID).SetType(orderitem.Type(l.product.Type)).SetTitle(l.product.Title).
				SetUnitAmount(l.product.PriceAmount).SetQuantity(l.quantity)
		}
		var items []*ent.OrderItem
		for chunk := range slices.Chunk(creates, itemsAtOnce) {
			stored, err := c.Tx.OrderItem.CreateBulk(chunk...).Save(c)
			if err != nil {
				return nil, fmt.Errorf("record the order's items: %w", err)
			}
			items = append(items, stored...)
		}
		if known {
			if err := c.Tx.Customer.Update().Where(customer.StoreID(t.ID), customer.ID(buyer.ID)).AddOrdersCount(1).Exec(c); err != nil {
				return nil, fmt.Errorf("count the customer's order: %w", err)
			}
		}
		return resource.Order(row, buyer, link, items, t.Currency), nil
	}))
}

// check applies the rules that need no database, and converts the texts to their stored form.
func (d *OrderDraft) check(t tenant.Store) error {
	p := &problems{}
	d.Note = p.OptionalText("note", d.Note, validate.MaxNoteRunes)
	switch {
	case d.PaymentLinkID == "" && len(d.Lines) == 0:
		p.Invalid("items", "must name a product or a payment link")
	case d.PaymentLinkID != "" && len(d.Lines) > 0:
		p.Invalid("items", "must be empty for an order through a payment link")
	case d.PaymentLinkID == "" && d.Amount != nil:
		p.Invalid("amount", "follows from the products; only an OPEN payment link takes one")
	}
	p.Amount("amount", d.Amount, validate.PaymentBound)
	for i, l := range d.Lines {
		if l.Quantity < 1 {
			p.Invalid("items."+strconv.Itoa(i)+".quantity", "must be a whole number from 1")
		}
	}
	if d.CustomerID != "" {
		return p.Err()
	}
	in := &storefrontv1.CreateCustomerRequest{Name: d.Buyer.Name, Email: d.Buyer.Email, Phone: d.Buyer.Phone}
	row, err := p.newCustomer(in, t.Country)
	d.Buyer = Buyer{row.Email, row.Name, row.Phone}
	return err
}

// lockBuyer returns nil for a buyer who is new to the store.
func lockBuyer(c *hook.Change, d OrderDraft) (*ent.Customer, error) {
	if d.CustomerID == "" {
		return lockKnown(c, d.Buyer.row())
	}
	return lockCustomer(c, d.CustomerID)
}

// linkToPay locks the payment link, as the last row because its availability depends on the time, and returns the amount to
// pay.
func linkToPay(c *hook.Change, d OrderDraft) (*ent.PaymentLink, int64, error) {
	link, err := lockPaymentLink(c, d.PaymentLinkID)
	if err != nil {
		return nil, 0, err
	}
	availability := resource.Availability(link, c.Time())
	if availability != storefrontv1.PaymentLink_ACTIVE {
		return nil, 0, apierr.New(apierr.PaymentLinkUnavailable, "The payment link takes no payments: it is "+availability.String()+".")
	}
	switch {
	case link.Pricing == paymentlink.PricingFIXED && (d.Amount == nil || *d.Amount == *link.Amount):
		return link, *link.Amount, nil
	case link.Pricing == paymentlink.PricingFIXED:
		return nil, 0, apierr.New(apierr.PaymentLinkAmount, "The payment link's amount is fixed at "+validate.FormatAmount(*link.Amount,
			c.Store.Currency)+".")
	case d.Amount == nil || *d.Amount < *link.MinAmount:
		return nil, 0, apierr.New(apierr.PaymentLinkAmount, "The buyer chooses an amount from "+validate.FormatAmount(*link.MinAmount,
			c.Store.Currency)+" up.")
	}
	return link, *d.Amount, nil
}

type pricedLine struct {
	product  *ent.Product
	quantity int32
}

// linesOf reads the products of the lines. It returns them with the total amount.
func linesOf(c *hook.Change, lines []OrderLine) ([]pricedLine, int64, error) {
	ids := make([]uuid.UUID, len(lines))
	for i, l := range lines {
		id, ok := validate.ParseID(l.ProductID)
		if !ok {
			return nil, 0, productNotFound()
		}
		ids[i] = id
	}
	products, err := c.Tx.Product.Query().Where(product.StoreID(c.Store.ID), product.IDIn(ids...)).All(c)
	if err != nil {
		return nil, 0, fmt.Errorf("read products: %w", err)
	}
	priced := make([]pricedLine, len(lines))
	var total int64
	for i, id := range ids {
		at := slices.IndexFunc(products, func(p *ent.Product) bool { return p.ID == id })
		if at < 0 {
			return nil, 0, productNotFound()
		}
		p, quantity := products[at], lines[i].Quantity
		if p.PriceAmount > 0 && int64(quantity) > (validate.MaxAmount-total)/p.PriceAmount {
			return nil, 0, apierr.Invalid("The order's amount is above what an amount can be.",
				apijson.Field{Name: "items." + strconv.Itoa(i) + ".quantity", Message: "makes the order's amount too large"})
		}
		total += p.PriceAmount * int64(quantity)
		priced[i] = pricedLine{p, quantity}
	}
	return priced, total, nil
}
