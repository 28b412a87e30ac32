package shop

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/read"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	"go.storefront.example/gen/ent/paymentlink"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/refusal"
)

// OrderDraft is a purchase to record: of products, or through a payment link, by a customer that
// is known by its id or by who it is.
type OrderDraft struct {
	// CustomerID names a customer of the store; empty means that Buyer says who it is, and a new
	// buyer is a new customer.
	CustomerID string
	Buyer      Buyer
	// Lines are the products bought; none for an order through a payment link.
	Lines []OrderLine
	// PaymentLinkID names the payment link; empty means that the order comes from the catalogue.
	PaymentLinkID string
	// Amount is what the buyer of an OPEN link chose, in minor units; nil otherwise.
	Amount *int64
	// Note is what the buyer left; nil or empty for none.
	Note *string
}

// OrderLine is a product of the store and how many of it, from 1.
type OrderLine struct {
	ProductID string
	Quantity  int32
}

// RecordOrder records a PENDING order. The row of a payment link is held while its availability
// is judged and the order recorded, so that no order is recorded for a link whose last payment
// another transaction takes meanwhile.
//
// It refuses with validation_failed, phone_invalid, customer_identifier_required,
// customer_not_found, customer_conflict, product_not_found, payment_link_not_found,
// payment_link_unavailable or payment_link_amount_invalid.
func (s *Shop) RecordOrder(ctx context.Context, d OrderDraft) (*storefrontv1.Order, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.check(t); err != nil {
		return nil, err
	}
	return s.once(ctx, t, "order.create", d, func(ctx context.Context, tx *ent.Tx) (*storefrontv1.Order, error) {
		buyer, err := s.buyerOf(ctx, tx, t, d)
		if err != nil {
			return nil, err
		}
		create := tx.Order.Create().SetID(uuid.Must(uuid.NewV7())).SetStoreID(t.ID).SetCustomerID(buyer.ID).
			SetReference("ORD-" + code(10)).SetPlatformFeePercent(t.PlatformFeePercent).SetNillableNote(d.Note).
			SetCreatedAt(hook.Time(ctx)).SetUpdatedAt(hook.Time(ctx))
		var items []*ent.OrderItemCreate
		var amount int64
		if d.PaymentLinkID != "" {
			link, chosen, err := s.linkToPay(ctx, tx, t, d)
			if err != nil {
				return nil, err
			}
			amount = chosen
			create.SetPaymentLinkID(link.ID)
		} else {
			orderID, _ := create.Mutation().ID()
			if items, amount, err = linesOf(ctx, tx, t, orderID, d.Lines); err != nil {
				return nil, err
			}
		}
		row, err := create.SetAmount(amount).Save(ctx)
		if err != nil {
			return nil, fmt.Errorf("record order: %w", err)
		}
		if err := tx.OrderItem.CreateBulk(items...).Exec(ctx); err != nil {
			return nil, fmt.Errorf("record the order's items: %w", err)
		}
		if err := tx.Customer.UpdateOneID(buyer.ID).Where(customer.StoreID(t.ID)).AddOrdersCount(1).Exec(ctx); err != nil {
			return nil, fmt.Errorf("count the customer's order: %w", err)
		}
		return read.Order(ctx, tx, t, row.ID)
	})
}

// check brings the draft's texts into their stored form and refuses what needs no look-up.
func (d *OrderDraft) check(t tenant.Store) error {
	p := &problems{}
	d.Note = p.optionalText("note", d.Note, MaxNoteRunes)
	switch {
	case d.PaymentLinkID == "" && len(d.Lines) == 0:
		p.invalid("items", "must name a product or a payment link")
	case d.PaymentLinkID != "" && len(d.Lines) > 0:
		p.invalid("items", "must be empty for an order through a payment link")
	case d.PaymentLinkID == "" && d.Amount != nil:
		p.invalid("amount", "follows from the products; only an OPEN payment link takes one")
	}
	p.amount("amount", d.Amount, 1)
	for i, l := range d.Lines {
		if l.Quantity < 1 {
			p.invalid("items."+strconv.Itoa(i)+".quantity", "must be a whole number from 1")
		}
	}
	if d.CustomerID != "" {
		return p.err()
	}
	var err error
	d.Buyer, err = p.buyer(d.Buyer, t.Country)
	return err
}

// buyerOf returns the customer of the draft, and holds its row.
func (s *Shop) buyerOf(ctx context.Context, tx *ent.Tx, t tenant.Store, d OrderDraft) (*ent.Customer, error) {
	if d.CustomerID == "" {
		row, _, err := s.knowCustomer(ctx, tx, t, d.Buyer)
		return row, err
	}
	id, ok := parseID(d.CustomerID)
	if !ok {
		return nil, customerNotFound()
	}
	row, err := lock(s, tx.Customer.Query().Where(customer.StoreID(t.ID), customer.ID(id))).Only(ctx)
	if err := readError("customer", err, customerNotFound); err != nil {
		return nil, err
	}
	return row, nil
}

// linkToPay returns the payment link of the draft, holds its row, and the amount to pay.
func (s *Shop) linkToPay(ctx context.Context, tx *ent.Tx, t tenant.Store, d OrderDraft) (*ent.PaymentLink, int64, error) {
	id, ok := parseID(d.PaymentLinkID)
	if !ok {
		return nil, 0, paymentLinkNotFound()
	}
	link, err := lock(s, tx.PaymentLink.Query().Where(paymentlink.StoreID(t.ID), paymentlink.ID(id))).Only(ctx)
	if err := readError("payment link", err, paymentLinkNotFound); err != nil {
		return nil, 0, err
	}
	availability := wire.Availability(link.DisabledAt, link.ExpiresAt, link.MaxPayments, link.PaidCount, hook.Time(ctx))
	if availability != storefrontv1.PaymentLink_ACTIVE {
		return nil, 0, refusal.New(refusal.PaymentLinkUnavailable, "The payment link takes no payments: it is "+availability.String()+".")
	}
	switch {
	case link.Pricing == paymentlink.PricingFIXED && (d.Amount == nil || *d.Amount == *link.Amount):
		return link, *link.Amount, nil
	case link.Pricing == paymentlink.PricingFIXED:
		return nil, 0, refusal.New(refusal.PaymentLinkAmount, fmt.Sprintf("The payment link's amount is fixed at %d.", *link.Amount))
	case d.Amount == nil || *d.Amount < *link.MinAmount:
		return nil, 0, refusal.New(refusal.PaymentLinkAmount, fmt.Sprintf("The buyer chooses an amount from %d up.", *link.MinAmount))
	}
	return link, *d.Amount, nil
}

// linesOf prices the lines by the products' present titles and prices.
func linesOf(ctx context.Context, tx *ent.Tx, t tenant.Store, orderID uuid.UUID, lines []OrderLine) ([]*ent.OrderItemCreate, int64, error) {
	ids := make([]uuid.UUID, len(lines))
	for i, l := range lines {
		id, ok := parseID(l.ProductID)
		if !ok {
			return nil, 0, productNotFound()
		}
		ids[i] = id
	}
	products, err := tx.Product.Query().Where(product.StoreID(t.ID), product.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read products: %w", err)
	}
	var items []*ent.OrderItemCreate
	var total int64
	for i, id := range ids {
		at := slices.IndexFunc(products, func(p *ent.Product) bool { return p.ID == id })
		if at < 0 {
			return nil, 0, productNotFound()
		}
		p, quantity := products[at], lines[i].Quantity
		if p.PriceAmount > 0 && int64(quantity) > (MaxAmount-total)/p.PriceAmount {
			return nil, 0, refusal.Invalid("The order's amount is above what an amount can be.",
				wire.Field{Name: "items." + strconv.Itoa(i) + ".quantity", Message: "makes the order's amount too large"})
		}
		total += p.PriceAmount * int64(quantity)
		items = append(items, tx.OrderItem.Create().SetStoreID(t.ID).SetOrderID(orderID).SetPosition(int32(i)).
			SetProductID(p.ID).SetType(orderitem.Type(p.Type)).SetTitle(p.Title).
			SetUnitAmount(p.PriceAmount).SetQuantity(quantity))
	}
	return items, total, nil
}

// PayOrder marks a PENDING or FAILED order as PAID, adds it to what its customer paid and to its
// payment link's counters, and sends order.paid, and payment_link.paid when it came through a
// link. Paying a paid order changes nothing and sends nothing.
//
// It refuses with order_not_found or order_transition_invalid.
func (s *Shop) PayOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusPAID, []order.Status{order.StatusPENDING, order.StatusFAILED},
		func(ctx context.Context, tx *ent.Tx, t tenant.Store, row *ent.Order, u *ent.OrderUpdateOne) error {
			u.SetPaidAt(hook.Time(ctx))
			if err := addPaid(ctx, tx, t, row.CustomerID, row.Amount); err != nil || row.PaymentLinkID == nil {
				return err
			}
			err := tx.PaymentLink.UpdateOneID(*row.PaymentLinkID).Where(paymentlink.StoreID(t.ID)).
				AddPaidCount(1).AddPaidAmount(row.Amount).SetLastPaidAt(hook.Time(ctx)).Exec(ctx)
			if err != nil {
				return fmt.Errorf("count the payment link's payment: %w", err)
			}
			return nil
		})
}

// FailOrder marks a PENDING order as FAILED and sends order.failed. It refuses with
// order_not_found or order_transition_invalid.
func (s *Shop) FailOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusFAILED, []order.Status{order.StatusPENDING}, nil)
}

// CancelOrder marks a PENDING order as CANCELLED. It refuses with order_not_found or
// order_transition_invalid.
func (s *Shop) CancelOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusCANCELLED, []order.Status{order.StatusPENDING}, nil)
}

// RefundOrder marks a PAID order as REFUNDED and takes it out of what its customer paid; a
// payment link's counters tell the payments taken and stay. It refuses with order_not_found or
// order_transition_invalid.
func (s *Shop) RefundOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusREFUNDED, []order.Status{order.StatusPAID},
		func(ctx context.Context, tx *ent.Tx, t tenant.Store, row *ent.Order, _ *ent.OrderUpdateOne) error {
			return addPaid(ctx, tx, t, row.CustomerID, -row.Amount)
		})
}

func addPaid(ctx context.Context, tx *ent.Tx, t tenant.Store, id uuid.UUID, amount int64) error {
	err := tx.Customer.UpdateOneID(id).Where(customer.StoreID(t.ID)).AddTotalPaid(amount).Exec(ctx)
	if err != nil {
		return fmt.Errorf("add to what the customer paid: %w", err)
	}
	return nil
}

// moveOrder moves an order to a status from one of those that lead there, and does what goes
// with it. An order that is there already stays as it is. Rows are always taken in the order of
// order, customer, payment link, so that payments never wait for each other in a circle.
func (s *Shop) moveOrder(ctx context.Context, id string, to order.Status, from []order.Status,
	with func(context.Context, *ent.Tx, tenant.Store, *ent.Order, *ent.OrderUpdateOne) error,
) (*storefrontv1.Order, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	orderID, ok := parseID(id)
	if !ok {
		return nil, orderNotFound()
	}
	return s.once(ctx, t, "order."+strings.ToLower(to.String()), orderID, func(ctx context.Context, tx *ent.Tx) (*storefrontv1.Order, error) {
		row, err := lock(s, tx.Order.Query().Where(order.StoreID(t.ID), order.ID(orderID))).Only(ctx)
		if err := readError("order", err, orderNotFound); err != nil {
			return nil, err
		}
		switch {
		case row.Status != to && !slices.Contains(from, row.Status):
			return nil, refusal.New(refusal.OrderTransition, fmt.Sprintf("The order is %s and cannot become %s.", row.Status, to))
		case row.Status != to:
			u := row.Update().SetStatus(to).SetUpdatedAt(hook.Time(ctx))
			if with != nil {
				if err := with(ctx, tx, t, row, u); err != nil {
					return nil, err
				}
			}
			if err := u.Exec(ctx); err != nil {
				return nil, fmt.Errorf("move order to %s: %w", to, err)
			}
		}
		return read.Order(ctx, tx, t, orderID)
	})
}
