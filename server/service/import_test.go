package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent/event"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

// fields is a line as a map, to be changed.
type fields map[string]any

func (f fields) with(name string, value any) fields {
	changed := maps.Clone(f)
	changed[name] = value
	return changed
}

func (f fields) without(name string) fields {
	changed := maps.Clone(f)
	delete(changed, name)
	return changed
}

// lines writes one object a line.
func lines(objects ...fields) *bytes.Reader {
	var b bytes.Buffer
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		b.Write(append(text, '\n'))
	}
	return bytes.NewReader(b.Bytes())
}

// oneProduct, oneCustomer and oneOrder are whole objects of the API with ids of their own.
func oneProduct() fields {
	id := uuid.NewString()
	return fields{
		"id": id, "title": "Guide", "slug": "guide-" + id[:8], "type": "FILE", "status": "PUBLISHED", "summary": "s", "description": "d",
		"priceAmount": 500, "compareAtAmount": 900, "currency": "XAF", "url": "https://old.example/guide", "coverUrl": nil,
		"publishedAt": "2025-01-02T00:00:00.000Z", "createdAt": "2025-01-01T00:00:00.000Z", "updatedAt": "2025-01-03T00:00:00.000Z",
	}
}

func oneCustomer() fields {
	id := uuid.NewString()
	return fields{
		"id": id, "name": "Awa", "email": id[:8] + "@example.com", "phone": nil,
		"ordersCount": 3, "totalPaid": 4500, "currency": "XAF", "createdAt": "2025-01-01T00:00:00.000Z",
	}
}

func oneOrder(buyer fields) fields {
	id := uuid.NewString()
	return fields{
		"id": id, "reference": "R-" + id[:8], "status": "PAID", "amount": 1000, "currency": "XAF", "platformFeePercent": 2.5,
		"customer": fields{"id": buyer["id"], "name": buyer["name"], "email": buyer["email"], "phone": buyer["phone"]},
		"items": []fields{{
			"id": uuid.NewString(), "productId": uuid.NewString(), "type": "FILE", "title": "Guide", "unitAmount": 500, "quantity": 2,
		}},
		"paymentLink": nil, "note": nil, "paidAt": "2025-02-02T00:00:00.000Z", "createdAt": "2025-02-01T00:00:00.000Z",
	}
}

func (b bench) load(kind service.ImportKind, objects ...fields) service.Imported {
	b.t.Helper()
	done, err := b.Import(b.ctx, lines(objects...), service.Import{Kind: kind})
	require.NoError(b.t, err)
	return done
}

// What one installation's API returns, another one loads and returns byte for byte.
func TestImportKeepsEveryByte(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		from := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}), service.Options{})
		p := from.product("Guide du marché", 1000)
		_, err := from.UpdateProduct(from.ctx, &storefrontv1.UpdateProductRequest{Id: p.Id, Status: ptr(storefrontv1.Product_PUBLISHED), CompareAtAmount: ptr(int64(2000))})
		require.NoError(t, err)
		from.product("Brouillon", 5)
		for i, move := range []func(context.Context, string) (*storefrontv1.Order, error){from.PayOrder, from.FailOrder, from.CancelOrder} {
			o := from.buy(fmt.Sprintf("É%d@example.com", i%2), p.Id, "")
			_, err := move(from.ctx, o.Id)
			require.NoError(t, err)
		}
		refunded := from.buy("late@example.com", p.Id, "")
		_, err = from.PayOrder(from.ctx, refunded.Id)
		require.NoError(t, err)
		_, err = from.RefundOrder(from.ctx, refunded.Id)
		require.NoError(t, err)

		export := func(b bench) map[service.ImportKind]string {
			products, err := b.ListProducts(b.ctx, &storefrontv1.ListProductsRequest{})
			require.NoError(t, err)
			customers, err := b.ListCustomers(b.ctx, &storefrontv1.ListCustomersRequest{})
			require.NoError(t, err)
			orders, err := b.ListOrders(b.ctx, &storefrontv1.ListOrdersRequest{})
			require.NoError(t, err)
			return map[service.ImportKind]string{
				service.ImportProducts: joined(products.Data), service.ImportCustomers: joined(customers.Data), service.ImportOrders: joined(orders.Data),
			}
		}
		to := newBench(t, s, service.Options{})
		want := export(from)
		for _, kind := range []service.ImportKind{service.ImportProducts, service.ImportCustomers, service.ImportOrders} {
			for _, again := range []bool{false, true} {
				done, err := to.Import(to.ctx, strings.NewReader(want[kind]), service.Import{Kind: kind})
				require.NoError(t, err)
				if again {
					require.Zero(t, done.Stored, "nothing is stored twice")
				} else {
					require.Equal(t, strings.Count(want[kind], "\n"), done.Stored)
				}
				require.Equal(t, int64(len(want[kind])), done.Bytes)
			}
		}
		require.Equal(t, want, export(to))
		require.Empty(t, to.events(), "a load sends nothing by itself")
		require.Equal(t, []string{"store.created", "store.imported", "store.imported", "store.imported"}, actions(to.journal()))
		require.JSONEq(t, `{"orders":{"from":null,"to":4}}`, string(to.journal()[3].Changes))
	})
}

func joined[M proto.Message](messages []M) string {
	var b bytes.Buffer
	for _, m := range messages {
		b.Write(append(wire.Marshal(m), '\n'))
	}
	return b.String()
}

func TestImportCountsNothingTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		counters := func(id any) [2]int64 {
			c, err := b.GetCustomer(b.ctx, &storefrontv1.GetCustomerRequest{Id: id.(string)})
			require.NoError(t, err)
			return [2]int64{int64(c.OrdersCount), c.TotalPaid}
		}
		buyer := oneCustomer()
		b.load(service.ImportCustomers, buyer)
		require.Equal(t, [2]int64{3, 4500}, counters(buyer["id"]), "kept as given")

		// Once its orders come, they are what counts.
		b.load(service.ImportOrders, oneOrder(buyer), oneOrder(buyer).with("status", "REFUNDED"),
			oneOrder(buyer).with("status", "PENDING").with("paidAt", nil))
		require.Equal(t, [2]int64{3, 1000}, counters(buyer["id"]))

		// Orders by the rules and orders loaded later add up.
		bought := b.buy(buyer["email"].(string), b.product("Guide", 100).Id, "")
		_, err := b.PayOrder(b.ctx, bought.Id)
		require.NoError(t, err)
		b.load(service.ImportOrders, oneOrder(buyer))
		require.Equal(t, [2]int64{5, 2200}, counters(buyer["id"]))

		// A payment link counts the payments taken, those paid back included.
		link := b.link(nil)
		through := oneOrder(buyer).with("paymentLink", fields{"id": link.Id, "code": link.Code, "title": link.Title}).with("items", []fields{})
		b.load(service.ImportOrders, through, through.with("id", uuid.NewString()).with("reference", "R2").with("status", "REFUNDED").with("paidAt", "2025-03-01T00:00:00.000Z"),
			through.with("id", uuid.NewString()).with("reference", "R3").with("status", "FAILED").with("paidAt", nil))
		b.load(service.ImportOrders, through)
		l, err := b.GetPaymentLink(b.ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 2, l.PaidCount)
		require.EqualValues(t, 2000, l.PaidAmount)
		require.Equal(t, "2025-03-01T00:00:00Z", l.LastPaidAt.AsTime().Format("2006-01-02T15:04:05Z07:00"))
		require.Equal(t, link.UpdatedAt.AsTime(), l.UpdatedAt.AsTime())
	})
}

// Loads and payments of the same customers and the same link at once lose no count.
func TestImportBesidePayments(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		link, guide := b.link(nil), b.product("Guide", 250)
		// Those who buy through the link wait for each other there already; the others meet at
		// their customer's row alone.
		linked, plain := oneCustomer(), oneCustomer()
		b.load(service.ImportCustomers, linked, plain)
		const each = 10
		var group errgroup.Group
		pay := func(o *storefrontv1.Order) {
			group.Go(func() error {
				_, err := b.PayOrder(b.ctx, o.Id)
				return err
			})
		}
		load := func(order fields) {
			group.Go(func() error {
				_, err := b.Import(b.ctx, lines(order), service.Import{Kind: service.ImportOrders})
				return err
			})
		}
		for i := range each {
			through := b.buy(linked["email"].(string), "", link.Id)
			bought := b.buy(plain["email"].(string), guide.Id, "")
			pay(through)
			load(oneOrder(plain).with("amount", 100+i))
			pay(bought)
			load(oneOrder(linked).with("paymentLink", fields{"id": link.Id}).with("amount", 100+i))
		}
		require.NoError(t, group.Wait())
		for _, buyer := range []fields{linked, plain} {
			c, err := b.GetCustomer(b.ctx, &storefrontv1.GetCustomerRequest{Id: buyer["id"].(string)})
			require.NoError(t, err)
			require.EqualValues(t, 2*each, c.OrdersCount)
			require.EqualValues(t, each*500+each*100+each*(each-1)/2, c.TotalPaid)
		}
		l, err := b.GetPaymentLink(b.ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 2*each, l.PaidCount)
		require.EqualValues(t, each*500+each*100+each*(each-1)/2, l.PaidAmount)
	})
}

// Events of a load show what GET answers after it, as any event does.
func TestImportWithEvents(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		buyer := oneCustomer()
		_, err := b.Import(b.ctx, lines(oneOrder(buyer), oneOrder(buyer).with("status", "FAILED").with("paidAt", nil)), service.Import{Kind: service.ImportOrders, Events: true})
		require.NoError(t, err)
		_, err = b.Import(b.ctx, lines(oneProduct(), oneProduct().with("status", "DRAFT")), service.Import{Kind: service.ImportProducts, Events: true})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"customer.created", "order.paid", "order.failed", "product.published"}, b.events())

		created, err := s.Client().Event.Query().Where(event.Type("customer.created")).Only(b.ctx)
		require.NoError(t, err)
		c, err := b.GetCustomer(b.ctx, &storefrontv1.GetCustomerRequest{Id: buyer["id"].(string)})
		require.NoError(t, err)
		require.EqualValues(t, 2, c.OrdersCount)
		require.Contains(t, string(created.Payload), `"data":`+string(wire.Marshal(c)))
	})
}

func TestImportStoresWholeBatchesOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, service.Options{})
		objects := make([]fields, service.BatchLines+20)
		for i := range objects {
			objects[i] = oneCustomer()
		}
		objects[service.BatchLines+10]["email"] = "nobody"
		var told []service.Imported
		done, err := b.Import(b.ctx, lines(objects...), service.Import{Kind: service.ImportCustomers, Progress: func(so service.Imported) { told = append(told, so) }})
		var bad *service.LineError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, service.BatchLines+11, bad.Line)
		require.Equal(t, service.BatchLines, done.Stored)
		require.Equal(t, []service.Imported{done}, told)
		n, err := s.Client().Customer.Query().Count(b.ctx)
		require.NoError(t, err)
		require.Equal(t, service.BatchLines, n)

		// A line that only the database can refuse keeps its batch out too.
		_, err = b.Import(b.ctx, lines(oneCustomer(), oneCustomer().with("email", objects[0]["email"])), service.Import{Kind: service.ImportCustomers})
		require.EqualError(t, err, "line 2: email: is another customer's")
		n, err = s.Client().Customer.Query().Count(b.ctx)
		require.NoError(t, err)
		require.Equal(t, service.BatchLines, n)
	})
}

func TestImportOfATextThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}), service.Options{})
	away := errors.New("the disk is gone")
	_, err := b.Import(b.ctx, iotest.ErrReader(away), service.Import{Kind: service.ImportProducts})
	require.ErrorIs(t, err, away)
	_, err = b.Import(b.ctx, strings.NewReader("\n\n"+strings.Repeat("x", 2<<20)), service.Import{Kind: service.ImportProducts})
	require.EqualError(t, err, "line 3: is longer than 1 MiB")
	done, err := b.Import(b.ctx, strings.NewReader("\n  \r\n"), service.Import{Kind: service.ImportProducts})
	require.NoError(t, err)
	require.Zero(t, done)
	_, err = b.Import(b.ctx, strings.NewReader("{}"), service.Import{Kind: "stores"})
	require.Error(t, err)
}
