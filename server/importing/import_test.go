package importing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent/event"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/importing"
	"go.storefront.example/server/importing/file"
	"go.storefront.example/server/importing/importtest"
	"go.storefront.example/server/service/servicetest"
)

func (b bench) load(kind file.Kind, objects ...importtest.Fields) file.Progress {
	b.T.Helper()
	done, err := importtest.Load(b.Ctx, b.Importer, importtest.Lines(objects...), file.Options{Kind: kind})
	require.NoError(b.T, err)
	return done
}

// What one installation's API returns, another one loads and returns byte for byte.
func TestImportKeepsEveryByte(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		from := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		p := from.Product("Guide du marché", 1000)
		_, err := from.UpdateProduct(from.Ctx, &storefrontv1.UpdateProductRequest{Id: p.Id, Status: ptr(storefrontv1.Product_PUBLISHED), CompareAtAmount: ptr(int64(2000))})
		require.NoError(t, err)
		from.Product("Brouillon", 5)
		for i, move := range []func(context.Context, string) (*storefrontv1.Order, error){from.PayOrder, from.FailOrder, from.CancelOrder} {
			o := from.Buy(fmt.Sprintf("É%d@example.com", i%2), p.Id, "")
			_, err := move(from.Ctx, o.Id)
			require.NoError(t, err)
		}
		refunded := from.Buy("late@example.com", p.Id, "")
		_, err = from.PayOrder(from.Ctx, refunded.Id)
		require.NoError(t, err)
		_, err = from.RefundOrder(from.Ctx, refunded.Id)
		require.NoError(t, err)

		export := func(b bench) map[file.Kind]string {
			products, err := b.ListProducts(b.Ctx, &storefrontv1.ListProductsRequest{})
			require.NoError(t, err)
			customers, err := b.ListCustomers(b.Ctx, &storefrontv1.ListCustomersRequest{})
			require.NoError(t, err)
			orders, err := b.ListOrders(b.Ctx, &storefrontv1.ListOrdersRequest{})
			require.NoError(t, err)
			return map[file.Kind]string{
				file.Products: joined(products.Data), file.Customers: joined(customers.Data), file.Orders: joined(orders.Data),
			}
		}
		to := newBench(t, s)
		want := export(from)
		for _, kind := range []file.Kind{file.Products, file.Customers, file.Orders} {
			for _, again := range []bool{false, true} {
				done, err := importtest.Load(to.Ctx, to.Importer, strings.NewReader(want[kind]), file.Options{Kind: kind})
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
		require.Empty(t, to.Events(), "a load sends nothing by itself")
		require.Equal(t, []string{"store.created", "store.imported", "store.imported", "store.imported"}, servicetest.Actions(to.Journal()))
		require.JSONEq(t, `{"orders":{"from":null,"to":4}}`, string(to.Journal()[3].Changes))
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
		b := newBench(t, s)
		counters := func(id any) [2]int64 {
			c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: id.(string)})
			require.NoError(t, err)
			return [2]int64{int64(c.OrdersCount), c.TotalPaid}
		}
		buyer := importtest.OneCustomer()
		b.load(file.Customers, buyer)
		require.Equal(t, [2]int64{3, 4500}, counters(buyer["id"]), "kept as given")

		// Once its orders come, they are what counts.
		b.load(file.Orders, importtest.OneOrder(buyer), importtest.OneOrder(buyer).With("status", "REFUNDED"),
			importtest.OneOrder(buyer).With("status", "PENDING").With("paidAt", nil))
		require.Equal(t, [2]int64{3, 1000}, counters(buyer["id"]))

		// Orders by the rules and orders loaded later add up.
		bought := b.Buy(buyer["email"].(string), b.Product("Guide", 100).Id, "")
		_, err := b.PayOrder(b.Ctx, bought.Id)
		require.NoError(t, err)
		b.load(file.Orders, importtest.OneOrder(buyer))
		require.Equal(t, [2]int64{5, 2200}, counters(buyer["id"]))

		// A payment link counts the payments taken, those paid back included.
		link := b.Link(nil)
		through := importtest.OneOrder(buyer).With("paymentLink", importtest.Fields{"id": link.Id, "code": link.Code, "title": link.Title}).With("items", []importtest.Fields{})
		b.load(file.Orders, through, through.With("id", uuid.NewString()).With("reference", "R2").With("status", "REFUNDED").With("paidAt", "2025-03-01T00:00:00.000Z"),
			through.With("id", uuid.NewString()).With("reference", "R3").With("status", "FAILED").With("paidAt", nil))
		b.load(file.Orders, through)
		l, err := b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 2, l.PaidCount)
		require.EqualValues(t, 2000, l.PaidAmount)
		require.Equal(t, "2025-03-01T00:00:00Z", l.LastPaidAt.AsTime().Format("2006-01-02T15:04:05Z07:00"))
		require.Equal(t, link.UpdatedAt.AsTime(), l.UpdatedAt.AsTime())

		// Without a date of payment, an order was paid when it was created.
		b.load(file.Orders, through.With("id", uuid.NewString()).With("reference", "R4").With("paidAt", nil).With("createdAt", "2025-04-01T00:00:00.000Z"))
		l, err = b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 3, l.PaidCount)
		require.Equal(t, "2025-04-01T00:00:00Z", l.LastPaidAt.AsTime().Format("2006-01-02T15:04:05Z07:00"))
	})
}

// Loads and payments of the same customers and the same link at once lose no count.
func TestImportBesidePayments(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		link, guide := b.Link(nil), b.Product("Guide", 250)
		// Those who buy through the link wait for each other there already; the others meet at
		// their customer's row alone.
		linked, plain := importtest.OneCustomer(), importtest.OneCustomer()
		b.load(file.Customers, linked, plain)
		const each = 10
		var group errgroup.Group
		pay := func(o *storefrontv1.Order) {
			group.Go(func() error {
				_, err := b.PayOrder(b.Ctx, o.Id)
				return err
			})
		}
		load := func(order importtest.Fields) {
			group.Go(func() error {
				_, err := importtest.Load(b.Ctx, b.Importer, importtest.Lines(order), file.Options{Kind: file.Orders})
				return err
			})
		}
		for i := range each {
			through := b.Buy(linked["email"].(string), "", link.Id)
			bought := b.Buy(plain["email"].(string), guide.Id, "")
			pay(through)
			load(importtest.OneOrder(plain).With("amount", 100+i))
			pay(bought)
			load(importtest.OneOrder(linked).With("paymentLink", importtest.Fields{"id": link.Id}).With("amount", 100+i))
		}
		require.NoError(t, group.Wait())
		for _, buyer := range []importtest.Fields{linked, plain} {
			c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: buyer["id"].(string)})
			require.NoError(t, err)
			require.EqualValues(t, 2*each, c.OrdersCount)
			require.EqualValues(t, each*500+each*100+each*(each-1)/2, c.TotalPaid)
		}
		l, err := b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 2*each, l.PaidCount)
		require.EqualValues(t, each*500+each*100+each*(each-1)/2, l.PaidAmount)
	})
}

// Events of a load show what GET answers after it, as any event does.
func TestImportWithEvents(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		buyer := importtest.OneCustomer()
		_, err := importtest.Load(b.Ctx, b.Importer, importtest.Lines(importtest.OneOrder(buyer), importtest.OneOrder(buyer).With("status", "FAILED").With("paidAt", nil)), file.Options{Kind: file.Orders, Events: true})
		require.NoError(t, err)
		_, err = importtest.Load(b.Ctx, b.Importer, importtest.Lines(importtest.OneProduct(), importtest.OneProduct().With("status", "DRAFT")), file.Options{Kind: file.Products, Events: true})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"customer.created", "order.paid", "order.failed", "product.published"}, b.Events())

		created, err := s.Client().Event.Query().Where(event.Type("customer.created")).Only(b.Ctx)
		require.NoError(t, err)
		c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: buyer["id"].(string)})
		require.NoError(t, err)
		require.EqualValues(t, 2, c.OrdersCount)
		require.Contains(t, string(created.Payload), `"data":`+string(wire.Marshal(c)))
	})
}

func TestImportStoresWholeBatchesOnly(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		objects := make([]importtest.Fields, importing.BatchRows+20)
		for i := range objects {
			objects[i] = importtest.OneCustomer()
		}
		objects[importing.BatchRows+10]["email"] = "nobody"
		var told []file.Progress
		done, err := importtest.Load(b.Ctx, b.Importer, importtest.Lines(objects...), file.Options{Kind: file.Customers, Progress: func(so file.Progress) { told = append(told, so) }})
		var bad *file.BadLinesError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, importing.BatchRows+11, bad.First[0].Line)
		require.Equal(t, importing.BatchRows, done.Stored)
		require.Equal(t, done, told[len(told)-1])
		require.Len(t, told, 2, "what stands behind a bad line is checked")
		n, err := s.Client().Customer.Query().Count(b.Ctx)
		require.NoError(t, err)
		require.Equal(t, importing.BatchRows, n)

		// A line that only the database can refuse keeps its batch out too.
		_, err = importtest.Load(b.Ctx, b.Importer, importtest.Lines(importtest.OneCustomer(), importtest.OneCustomer().With("email", objects[0]["email"])), file.Options{Kind: file.Customers})
		require.EqualError(t, err, "line 2: email: is another customer's")
		n, err = s.Client().Customer.Query().Count(b.Ctx)
		require.NoError(t, err)
		require.Equal(t, importing.BatchRows, n)
	})
}

func TestImportedTimesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s)
		line := `{"id":"01990000-0000-7000-8000-000000000001","reference":"R1","status":"PAID","amount":5,"currency":"XAF",` +
			`"platformFeePercent":0,"customer":{"id":"01990000-0000-7000-8000-000000000002","name":"A","email":"a@example.com","phone":null},` +
			`"items":[],"paymentLink":null,"note":null,"paidAt":"2026-09-01T12:00:00.0059Z","createdAt":"2026-09-01T12:00:00.0019Z"}`
		done, err := importtest.Load(b.Ctx, b.Importer, strings.NewReader(line), file.Options{Kind: file.Orders})
		require.NoError(t, err)
		require.Equal(t, 1, done.Stored)
		row := s.Client().Order.Query().OnlyX(b.Ctx)
		require.Equal(t, 1*time.Millisecond, time.Duration(row.CreatedAt.Nanosecond()))
		require.Equal(t, 5*time.Millisecond, time.Duration(row.PaidAt.Nanosecond()))
	})
}

func TestImportOfATextThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	away := errors.New("the disk is gone")
	_, err := importtest.Load(b.Ctx, b.Importer, iotest.ErrReader(away), file.Options{Kind: file.Products})
	require.ErrorIs(t, err, away)
	_, err = importtest.Load(b.Ctx, b.Importer, strings.NewReader("\n\n"+strings.Repeat("x", 2<<20)), file.Options{Kind: file.Products})
	require.ErrorContains(t, err, "is longer than 1 MiB")
	done, err := importtest.Load(b.Ctx, b.Importer, strings.NewReader("\n  \r\n"), file.Options{Kind: file.Products})
	require.NoError(t, err)
	require.Zero(t, done)
	_, err = importtest.Load(b.Ctx, b.Importer, strings.NewReader("{}"), file.Options{Kind: "stores"})
	require.Error(t, err)
}
