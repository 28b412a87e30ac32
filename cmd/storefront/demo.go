package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
)

// The short names of the demo stores: the one that dev makes a key for, and one whose currency has decimals.
const (
	demoSlug     = "demo"
	demoEuroSlug = "demo-eur"
)

// demoText are the requests that make the demo stores: a shop in Douala that sells knowledge in French, with prices in
// francs, which have no decimals, and its smaller sister in Paris, with prices in euros. Buyers have an e-mail, a phone
// or both. The first store has one link of each kind: open and fixed ones that take payments, one whose end date passes, one
// whose cap is reached, and last the one that is disabled.
//
//go:embed demo.json
var demoText []byte

// demoData is what demoText holds: requests of the API, and of each store how many orders it gets.
type demoData struct {
	Stores []struct {
		Store    request[adminv1.CreateStoreRequest]
		Products []request[adminv1.CreateProductRequest]
		Links    []struct {
			Link request[storefrontv1.CreatePaymentLinkRequest]
			Days int // until it expires, 0 for never
		}
		Orders int
	}
	Customers []request[storefrontv1.CreateCustomerRequest]
	Notes     []string
}

// request is a request in JSON.
type request[M any] struct{ message *M }

// UnmarshalJSON reads the request as the API does.
func (r *request[M]) UnmarshalJSON(text []byte) error {
	r.message = new(M)
	return apijson.Unmarshal(text, any(r.message).(proto.Message)) //nolint:errcheck // It is one.
}

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
	shop  *shop.Shop
	clock *walk
	data  *demoData
}

// makeDemo makes the demo stores that are not there.
func makeDemo(ctx context.Context, url string) error {
	d := demo{clock: newWalk(), data: &demoData{}}
	if err := json.Unmarshal(demoText, d.data); err != nil {
		return fmt.Errorf("read the demo stores: %w", err)
	}
	handle, err := db.Open(ctx, db.Config{URL: url, Clock: d.clock.now})
	if err != nil {
		return err
	}
	d.shop = shop.New(handle, shop.Options{})
	o := admin.New(handle, admin.Options{})
	for n, store := range d.data.Stores {
		slug := store.Store.message.GetSlug()
		_, err = o.GetStore(ctx, &adminv1.GetStoreRequest{Store: slug})
		if r, ok := errors.AsType[*apierr.Refusal](err); ok && r.Code == apierr.StoreNotFound {
			err = d.fill(ctx, o, n)
		}
		if err != nil {
			err = fmt.Errorf("make the demo store %s: %w", slug, err)
			break
		}
	}
	return errors.Join(err, handle.Close())
}

// fill makes one of the demo stores and what is in it.
func (d demo) fill(ctx context.Context, o *admin.Operator, n int) error {
	data := d.data.Stores[n]
	d.clock.restart()
	if _, err := o.CreateStore(ctx, data.Store.message); err != nil {
		return err
	}
	ctx, err := o.In(ctx, data.Store.message.GetSlug())
	if err != nil {
		return err
	}
	var products, links, customers []string
	for _, p := range data.Products {
		d.clock.after(7 * time.Hour)
		id, published, err := d.product(ctx, p.message)
		if err != nil {
			return fmt.Errorf("product %q: %w", p.message.GetTitle(), err)
		}
		if published {
			products = append(products, id)
		}
	}
	for _, l := range data.Links {
		d.clock.after(time.Hour)
		if l.Days > 0 {
			l.Link.message.ExpiresAt = timestamppb.New(d.clock.now().AddDate(0, 0, l.Days))
		}
		created, err := d.shop.CreatePaymentLink(ctx, l.Link.message)
		if err != nil {
			return fmt.Errorf("payment link %q: %w", l.Link.message.GetTitle(), err)
		}
		links = append(links, created.GetId())
	}
	for _, c := range d.data.Customers {
		d.clock.after(5 * time.Hour)
		created, _, err := d.shop.CreateCustomer(ctx, c.message)
		if err != nil {
			return fmt.Errorf("customer %q: %w", c.message.GetName(), err)
		}
		customers = append(customers, created.GetId())
	}
	if err := d.orders(ctx, data.Orders, products, links, customers); err != nil {
		return err
	}
	_, err = d.shop.DisablePaymentLink(ctx, links[len(links)-1])
	return err
}

// product makes a product. An archived one was published first.
func (d demo) product(ctx context.Context, in *adminv1.CreateProductRequest) (id string, published bool, err error) {
	archived := in.GetStatus() == storefrontv1.Product_ARCHIVED
	if archived {
		in.Status = storefrontv1.Product_PUBLISHED.Enum()
	}
	created, err := d.shop.CreateProduct(ctx, in)
	if err == nil && archived {
		d.clock.after(24 * time.Hour)
		created, err = d.shop.UpdateProductAsOperator(ctx, &adminv1.UpdateProductRequest{Id: created.GetId(),
			Status: storefrontv1.Product_ARCHIVED.Enum()})
	}
	return created.GetId(), created.GetStatus() == storefrontv1.Product_PUBLISHED, err
}

// orders records purchases up to now and moves them to every status, most of them paid.
func (d demo) orders(ctx context.Context, count int, products, links, customers []string) error {
	pace := time.Since(d.clock.now()) / time.Duration(count+1)
	for i := range count {
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
			draft.Note = &d.data.Notes[i%len(d.data.Notes)]
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

// demoLinkOf returns the link of an order, by its index in the store, and the amount that its buyer
// chose; -1 is an order from the catalogue.
func demoLinkOf(i int) (link int, chosen *int64) {
	switch i {
	case 6, 16, 26: // paid, until the cap is reached
		return 2, nil
	case 2, 12:
		return 3, nil
	case 11, 21, 31, 41:
		return 4, nil
	}
	switch i % 8 {
	case 1:
		return 0, new(int64(500 + 250*(i%5)))
	case 6:
		return 1, nil
	}
	return -1, nil
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
