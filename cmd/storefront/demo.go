package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/shop"
)

// The short names of the demo stores: the one that dev makes a key for, and one whose currency has decimals.
const (
	demoSlug     = "demo"
	demoEuroSlug = "demo-eur"
)

// demoDays is how far back the demo store's history goes.
const demoDays = 45

// walk is the clock of the demo store's history: it stands still, and is led from the store's
// opening to today, so that all dates, counters, journal entries and events come from the rules.
type walk struct{ at time.Time }

func newWalk() *walk { return &walk{time.Now()} }

// restart leads the clock back to the day on which a store opens.
func (w *walk) restart() { w.at = time.Now().AddDate(0, 0, -demoDays) }

func (w *walk) now() time.Time { return w.at }

// after leads the clock on.
func (w *walk) after(d time.Duration) { w.at = w.at.Add(d) }

// demo makes a demo store by what the operator and the API's callers can do.
type demo struct {
	operator *admin.Operator
	shop     *shop.Shop
	clock    *walk
	data     demoStore
}

func (d demo) fill(ctx context.Context) error {
	d.clock.restart()
	if _, err := d.operator.CreateStore(ctx, d.data.store); err != nil {
		return err
	}
	ctx, err := d.operator.In(ctx, d.data.store.GetSlug())
	if err != nil {
		return err
	}
	products, err := d.products(ctx)
	if err != nil {
		return err
	}
	links, err := d.links(ctx)
	if err != nil {
		return err
	}
	customers, err := d.customers(ctx)
	if err != nil {
		return err
	}
	if err := d.orders(ctx, products, links, customers); err != nil {
		return err
	}
	_, err = d.shop.DisablePaymentLink(ctx, links[len(links)-1])
	return err
}

// products makes the catalogue and returns the ids of what is published.
func (d demo) products(ctx context.Context) ([]string, error) {
	var published []string
	for _, p := range d.data.products {
		d.clock.after(7 * time.Hour)
		in := &adminv1.CreateProductRequest{
			Title: p.title, Type: p.kind, PriceAmount: &p.price, Summary: &p.summary, Description: new("<p>" + p.summary + "</p>"),
			ContentReady: new(p.status != storefrontv1.Product_DRAFT), Status: p.status.Enum(),
		}
		if p.compareAt > 0 {
			in.CompareAtAmount = &p.compareAt
		}
		// An archived product was published first.
		if p.status == storefrontv1.Product_ARCHIVED {
			in.Status = storefrontv1.Product_PUBLISHED.Enum()
		}
		created, err := d.shop.CreateProduct(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("product %q: %w", p.title, err)
		}
		switch p.status {
		case storefrontv1.Product_PUBLISHED:
			published = append(published, created.GetId())
		case storefrontv1.Product_ARCHIVED:
			d.clock.after(24 * time.Hour)
			if _, err := d.shop.UpdateProductAsOperator(ctx, &adminv1.UpdateProductRequest{Id: created.GetId(),
				Status: storefrontv1.Product_ARCHIVED.Enum()}); err != nil {
				return nil, fmt.Errorf("product %q: %w", p.title, err)
			}
		}
	}
	return published, nil
}

// links makes the payment links and returns their ids, the one to be disabled last.
func (d demo) links(ctx context.Context) ([]string, error) {
	var ids []string
	for _, l := range d.data.links {
		d.clock.after(time.Hour)
		in := &storefrontv1.CreatePaymentLinkRequest{
			Title: l.title, Pricing: l.pricing, Amount: l.amount, MinAmount: l.minAmount,
			Description: l.description, ThankYouMessage: l.thanks, MaxPayments: l.maxPayments,
		}
		if l.lasts > 0 {
			in.ExpiresAt = timestamppb.New(d.clock.now().Add(l.lasts))
		}
		created, err := d.shop.CreatePaymentLink(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("payment link %q: %w", l.title, err)
		}
		ids = append(ids, created.GetId())
	}
	return ids, nil
}

// customers makes the buyers and returns their ids.
func (d demo) customers(ctx context.Context) ([]string, error) {
	var ids []string
	for i, c := range demoCustomers {
		d.clock.after(5 * time.Hour)
		in := &storefrontv1.CreateCustomerRequest{Name: c.name}
		if c.email != "" {
			in.Email = &c.email
		}
		if c.email == "" || i%3 != 0 {
			phone := fmt.Sprintf("+2376700%05d", 10000+i*137)
			in.Phone = &phone
		}
		created, _, err := d.shop.CreateCustomer(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("customer %q: %w", c.name, err)
		}
		ids = append(ids, created.GetId())
	}
	return ids, nil
}

// orders records purchases up to now and moves them to every status, most of them paid.
func (d demo) orders(ctx context.Context, products, links, customers []string) error {
	pace := time.Since(d.clock.now()) / time.Duration(d.data.orders+1)
	for i := range d.data.orders {
		d.clock.after(pace)
		draft := shop.OrderDraft{CustomerID: customers[i*7%len(customers)]}
		if link, amount := demoLinkOf(i); link >= 0 && link < len(links) {
			draft.PaymentLinkID, draft.Amount = links[link], amount
		} else {
			for n := range 1 + i%3 {
				draft.Lines = append(draft.Lines, shop.OrderLine{ProductID: products[(i+3*n)%len(products)], Quantity: int32(1 + (i+n)%2)})
			}
		}
		if i%9 == 4 {
			draft.Note = &demoNotes[i%len(demoNotes)]
		}
		recorded, err := d.shop.RecordOrder(ctx, draft)
		if err != nil {
			return fmt.Errorf("order %d: %w", i, err)
		}
		for _, move := range d.moves(i) {
			// Less than the time to the next order, so that the clock never runs past today.
			d.clock.after(time.Second)
			if _, err := move(ctx, recorded.GetId()); err != nil {
				return fmt.Errorf("order %d: %w", i, err)
			}
		}
	}
	return nil
}

// moves are what became of an order.
func (d demo) moves(i int) []func(context.Context, string) (*storefrontv1.Order, error) {
	type moves = []func(context.Context, string) (*storefrontv1.Order, error)
	switch i % 10 {
	case 3:
		return moves{d.shop.FailOrder}
	case 5:
		return moves{d.shop.PayOrder, d.shop.RefundOrder}
	case 7:
		return moves{d.shop.CancelOrder}
	case 8:
		return moves{d.shop.FailOrder, d.shop.PayOrder}
	case 9:
		return nil
	}
	return moves{d.shop.PayOrder}
}
