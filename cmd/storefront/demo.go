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
	"go.storefront.example/ent/hook"
	orderstatus "go.storefront.example/gen/ent/order"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
)

// demoSlug is the store for which dev makes its API key. The other store's currency has decimals.
const (
	demoSlug     = "demo"
	demoEuroSlug = "demo-eur"
)

// demoText has the requests that make the demo stores: a shop in Douala, whose prices in francs have no decimals, with each
// kind of payment link, and a smaller one in Paris that sells in euros.
//
//go:embed demo.json
var demoText []byte

type demoData struct {
	Stores []struct {
		Store    request[adminv1.CreateStoreRequest]
		Products []request[adminv1.CreateProductRequest]
		Links    []struct {
			Link request[storefrontv1.CreatePaymentLinkRequest]
			Days int // days until the link expires; 0 means never
		}
		Orders []demoOrder
	}
	Customers []request[storefrontv1.CreateCustomerRequest]
}

// demoOrder has indexes of customers, links and published products. Moves are changes of the status, such as "pay".
type demoOrder struct {
	Customer int
	Link     *int
	Amount   *int64
	Products []struct {
		Product  int
		Quantity int32
	}
	Note  *string
	Moves []string
}

type request[M any] struct{ message *M }

func (r *request[M]) UnmarshalJSON(text []byte) error {
	r.message = new(M)
	return apijson.Unmarshal(text, any(r.message).(proto.Message)) //nolint:errcheck // M is a message, so *M is a proto.Message
}

const demoDays = 45

// demoClock moves from the store's opening to today, so that the service's own rules set all dates and counts, and write the
// journal and the events.
type demoClock struct{ at time.Time }

func newDemoClock() *demoClock { return &demoClock{time.Now()} }

func (w *demoClock) restart() { w.at = time.Now().AddDate(0, 0, -demoDays) }

func (w *demoClock) now() time.Time { return w.at }

func (w *demoClock) advance(d time.Duration) { w.at = w.at.Add(d) }

type demo struct {
	shop  *shop.Shop
	clock *demoClock
	data  *demoData
}

// makeDemo makes those demo stores that the database lacks.
func makeDemo(ctx context.Context, url string) error {
	d := demo{clock: newDemoClock(), data: &demoData{}}
	if err := json.Unmarshal(demoText, d.data); err != nil {
		return fmt.Errorf("read the demo stores: %w", err)
	}
	handle, err := hook.Open(ctx, db.Config{URL: url, Clock: d.clock.now})
	if err != nil {
		return err
	}
	d.shop = shop.New(handle, shop.Options{})
	o := admin.New(handle, admin.Options{})
	for n, store := range d.data.Stores {
		slug := store.Store.message.GetSlug()
		_, err = o.WithStore(ctx, slug)
		if apierr.Is(err, apierr.StoreNotFound) {
			err = d.fill(ctx, o, n)
		}
		if err != nil {
			err = fmt.Errorf("make the demo store %s: %w", slug, err)
			break
		}
	}
	return errors.Join(err, handle.Close())
}

func (d demo) fill(ctx context.Context, o *admin.Operator, n int) error {
	data := d.data.Stores[n]
	d.clock.restart()
	if _, err := o.CreateStore(ctx, data.Store.message); err != nil {
		return err
	}
	ctx, err := o.WithStore(ctx, data.Store.message.GetSlug())
	if err != nil {
		return err
	}
	var products, links, customers []string
	for _, p := range data.Products {
		d.clock.advance(7 * time.Hour)
		id, published, err := d.product(ctx, p.message)
		if err != nil {
			return fmt.Errorf("product %q: %w", p.message.GetTitle(), err)
		}
		if published {
			products = append(products, id)
		}
	}
	for _, l := range data.Links {
		d.clock.advance(time.Hour)
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
		d.clock.advance(5 * time.Hour)
		created, err := d.shop.CreateCustomer(ctx, c.message)
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

// product publishes a product that is to be archived, and archives it a day later.
func (d demo) product(ctx context.Context, in *adminv1.CreateProductRequest) (id string, published bool, err error) {
	archived := in.GetStatus() == storefrontv1.Product_ARCHIVED
	if archived {
		in.Status = storefrontv1.Product_PUBLISHED.Enum()
	}
	created, err := d.shop.CreateProduct(ctx, in)
	if err == nil && archived {
		d.clock.advance(24 * time.Hour)
		created, err = d.shop.UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Id: created.GetId(),
			Status: storefrontv1.Product_ARCHIVED.Enum()})
	}
	return created.GetId(), created.GetStatus() == storefrontv1.Product_PUBLISHED, err
}

// orders spreads the orders evenly from d.clock until now, and moves each to its final status.
func (d demo) orders(ctx context.Context, all []demoOrder, products, links, customers []string) error {
	moves := map[string]orderstatus.Status{"pay": orderstatus.StatusPAID, "fail": orderstatus.StatusFAILED,
		"cancel": orderstatus.StatusCANCELLED, "refund": orderstatus.StatusREFUNDED}
	pace := time.Since(d.clock.now()) / time.Duration(len(all)+1)
	for i, o := range all {
		d.clock.advance(pace)
		draft := shop.OrderDraft{CustomerID: customers[o.Customer], Amount: o.Amount, Note: o.Note}
		if o.Link != nil {
			draft.PaymentLinkID = links[*o.Link]
		}
		for _, line := range o.Products {
			draft.Lines = append(draft.Lines, shop.OrderLine{ProductID: products[line.Product], Quantity: line.Quantity})
		}
		recorded, err := d.shop.RecordOrder(ctx, draft)
		if err != nil {
			return fmt.Errorf("order %d: %w", i, err)
		}
		for _, move := range o.Moves {
			// One second is much less than the time between two orders, so the clock stays in the past.
			d.clock.advance(time.Second)
			if _, err := d.shop.MoveOrder(ctx, recorded.GetId(), moves[move]); err != nil {
				return fmt.Errorf("order %d: %w", i, err)
			}
		}
	}
	return nil
}
