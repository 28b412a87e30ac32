package importfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/order"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/transfer/transfertest"
)

func (b bench) load(kind kind, objects ...transfertest.Fields) *importfile.Report {
	b.T.Helper()
	done, err := load(b.Ctx, b.DB, transfertest.Lines(objects...), options{Kind: kind})
	require.NoError(b.T, err)
	return done
}

// The APIs of both installations return the same bytes.
func TestImportKeepsEveryByte(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		from := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		p := from.Product("Guide du marché", 1000)
		_, err := from.UpdateProduct(from.Ctx, &storefrontv1.UpdateProductRequest{Id: p.Id, Status: ptr(storefrontv1.Product_PUBLISHED),
			CompareAtAmount: ptr(int64(2000))})
		require.NoError(t, err)
		from.Product("Brouillon", 5)
		for i, status := range []order.Status{order.StatusPAID, order.StatusFAILED, order.StatusCANCELLED} {
			o := from.Buy(fmt.Sprintf("É%d@example.com", i%2), p.Id, "")
			_, err := from.MoveOrder(from.Ctx, o.Id, status)
			require.NoError(t, err)
		}
		refunded := from.Buy("late@example.com", p.Id, "")
		_, err = from.MoveOrder(from.Ctx, refunded.Id, "PAID")
		require.NoError(t, err)
		_, err = from.MoveOrder(from.Ctx, refunded.Id, "REFUNDED")
		require.NoError(t, err)

		export := func(b bench) map[kind]string {
			p, err := b.ListProducts(b.Ctx, &storefrontv1.ListProductsRequest{})
			require.NoError(t, err)
			c, err := b.ListCustomers(b.Ctx, &storefrontv1.ListCustomersRequest{})
			require.NoError(t, err)
			o, err := b.ListOrders(b.Ctx, &storefrontv1.ListOrdersRequest{})
			require.NoError(t, err)
			return map[kind]string{products: joined(p.Data), customers: joined(c.Data), orders: joined(o.Data)}
		}
		to := newBench(t, d)
		want := export(from)
		for _, kind := range []kind{products, customers, orders} {
			for _, again := range []bool{false, true} {
				done, err := load(to.Ctx, to.DB, strings.NewReader(want[kind]), options{Kind: kind})
				require.NoError(t, err)
				if again {
					require.Zero(t, done.Stored, "nothing is stored twice")
				} else {
					require.Equal(t, strings.Count(want[kind], "\n"), done.Stored)
				}
			}
		}
		require.Equal(t, want, export(to))
		require.Empty(t, to.Events(), "a load sends nothing by itself")
		require.Equal(t, []string{"store.created", "store.imported", "store.imported", "store.imported"},
			shoptest.Actions(to.Journal()))
		require.JSONEq(t, `{"orders":{"from":null,"to":4}}`, string(to.Journal()[3].Changes))
	})
}

func joined[M proto.Message](messages []M) string {
	var b bytes.Buffer
	for _, m := range messages {
		b.Write(append(apijson.Marshal(m), '\n'))
	}
	return b.String()
}

func TestImportCountsNothingTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		counters := func(id any) [2]int64 {
			c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: id.(string)})
			require.NoError(t, err)
			return [2]int64{int64(c.OrdersCount), c.TotalPaid}
		}
		buyer := transfertest.OneCustomer()
		b.load(customers, buyer)
		require.Equal(t, [2]int64{3, 4500}, counters(buyer["id"]), "kept as given")

		// Once orders of the customer are imported, the count and the total are computed from them.
		b.load(orders, transfertest.OneOrder(buyer), transfertest.OneOrder(buyer).With("status", "REFUNDED"),
			transfertest.OneOrder(buyer).With("status", "PENDING").With("paidAt", nil))
		require.Equal(t, [2]int64{3, 1000}, counters(buyer["id"]))

		// Orders that are paid in the store are counted with the imported ones.
		bought := b.Buy(buyer["email"].(string), b.Product("Guide", 100).Id, "")
		_, err := b.MoveOrder(b.Ctx, bought.Id, "PAID")
		require.NoError(t, err)
		b.load(orders, transfertest.OneOrder(buyer))
		require.Equal(t, [2]int64{5, 2200}, counters(buyer["id"]))

		// A payment link counts all payments taken, including refunded ones.
		link := b.Link(nil)
		through := transfertest.OneOrder(buyer).With("paymentLink", transfertest.Fields{"id": link.Id, "code": link.Code,
			"title": link.Title}).With("items", []transfertest.Fields{})
		b.load(orders, through, through.With("id", uuid.NewString()).With("reference", "R2").With("status", "REFUNDED").With("paidAt",
			"2025-03-01T00:00:00.000Z"),
			through.With("id", uuid.NewString()).With("reference", "R3").With("status", "FAILED").With("paidAt", nil))
		b.load(orders, through)
		l, err := b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 2, l.PaidCount)
		require.EqualValues(t, 2000, l.PaidAmount)
		require.Equal(t, "2025-03-01T00:00:00Z", l.LastPaidAt.AsTime().Format("2006-01-02T15:04:05Z07:00"))
		require.Equal(t, link.UpdatedAt.AsTime(), l.UpdatedAt.AsTime())

		// An imported order without paidAt counts as paid when it was created.
		b.load(orders, through.With("id", uuid.NewString()).With("reference", "R4").With("paidAt", nil).With("createdAt",
			"2025-04-01T00:00:00.000Z"))
		l, err = b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: link.Id})
		require.NoError(t, err)
		require.EqualValues(t, 3, l.PaidCount)
		require.Equal(t, "2025-04-01T00:00:00Z", l.LastPaidAt.AsTime().Format("2006-01-02T15:04:05Z07:00"))
	})
}

// A stopped import leaves an entry too, and the one that continues it writes its own.
func TestAnImportHasOneJournalEntry(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		buyers := make([]transfertest.Fields, 2*transfer.BatchRows+200)
		for i := range buyers {
			buyers[i] = transfertest.Fields{"id": uuid.NewString(), "email": fmt.Sprintf("buyer%d@example.com", i)}
		}
		imported := func() (entries []string) {
			for _, e := range b.Journal() {
				if e.Action == "store.imported" {
					entries = append(entries, string(e.Changes))
				}
			}
			return entries
		}
		ctx, kill := context.WithCancel(b.Ctx)
		done, err := load(ctx, b.DB, transfertest.Lines(buyers...), options{Kind: customers,
			Progress: func(p importfile.Progress) {
				if p.Storing && p.Lines >= 2*transfer.BatchRows {
					kill()
				}
			}})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2*transfer.BatchRows, done.Stored)
		require.Equal(t, []string{`{"customers":{"from":null,"to":1000}}`}, imported(), "two batches of the import that was stopped")

		require.Equal(t, 200, b.load(customers, buyers...).Stored)
		require.Zero(t, b.load(customers, buyers...).Stored)
		b.load(products, transfertest.OneProduct())
		b.load(orders, transfertest.OneOrder(buyers[0]))
		require.Equal(t, []string{`{"customers":{"from":null,"to":1000}}`, `{"customers":{"from":null,"to":200}}`,
			`{"products":{"from":null,"to":1}}`, `{"orders":{"from":null,"to":1}}`}, imported(), "an entry for each import")

		_, err = transfer.New(d, nil).Customers(b.Ctx, &adminv1.ImportCustomersRequest{Customers: []*storefrontv1.Customer{{}},
			Options: &adminv1.ImportOptions{ImportId: uuid.NewString()}})
		require.ErrorContains(t, err, "The import's id cannot be read.")
	})
}

// Imports and payments of the same customers and link lose no count.
func TestImportBesidePayments(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		link, guide := b.Link(nil), b.Product("Guide", 250)
		// Payments through one link all change the link's row.
		linked, plain := transfertest.OneCustomer(), transfertest.OneCustomer()
		b.load(customers, linked, plain)
		const each = 10
		var group errgroup.Group
		pay := func(o *storefrontv1.Order) {
			group.Go(func() error {
				_, err := b.MoveOrder(b.Ctx, o.Id, "PAID")
				return err
			})
		}
		load := func(order transfertest.Fields) {
			group.Go(func() error {
				_, err := load(b.Ctx, b.DB, transfertest.Lines(order), options{Kind: orders})
				return err
			})
		}
		for i := range each {
			through := b.Buy(linked["email"].(string), "", link.Id)
			bought := b.Buy(plain["email"].(string), guide.Id, "")
			pay(through)
			load(transfertest.OneOrder(plain).With("amount", 100+i))
			pay(bought)
			load(transfertest.OneOrder(linked).With("paymentLink", transfertest.Fields{"id": link.Id}).With("amount", 100+i))
		}
		require.NoError(t, group.Wait())
		for _, buyer := range []transfertest.Fields{linked, plain} {
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

// The events show the objects as GET returns them afterwards.
func TestImportWithEvents(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		buyer := transfertest.OneCustomer()
		_, err := load(b.Ctx, b.DB, transfertest.Lines(transfertest.OneOrder(buyer), transfertest.OneOrder(buyer).With("status",
			"FAILED").With("paidAt", nil)), options{Kind: orders, Events: true})
		require.NoError(t, err)
		_, err = load(b.Ctx, b.DB, transfertest.Lines(transfertest.OneProduct(), transfertest.OneProduct().With("status",
			"DRAFT")), options{Kind: products, Events: true})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"customer.created", "order.paid", "order.failed", "product.published"}, b.Events())

		created, err := d.Client().Event.Query().Where(event.Type("customer.created")).Only(b.Ctx)
		require.NoError(t, err)
		c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: buyer["id"].(string)})
		require.NoError(t, err)
		require.EqualValues(t, 2, c.OrdersCount)
		require.Contains(t, string(created.Payload), `"data":`+string(apijson.Marshal(c)))
	})
}

func TestAFileWithABadLineStoresNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		objects := make([]transfertest.Fields, transfer.BatchRows+20)
		for i := range objects {
			objects[i] = transfertest.OneCustomer()
		}
		objects[transfer.BatchRows+10]["email"] = "nobody"
		var seen []importfile.Progress
		o := options{Kind: customers, Progress: func(so importfile.Progress) { seen = append(seen, so) }}
		_, err := load(b.Ctx, b.DB, transfertest.Lines(objects...), o)
		var bad *importfile.BadLinesError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, transfer.BatchRows+11, bad.Report.Problems[0].Lines[0][0])
		require.Len(t, seen, 2, "what stands behind a bad line is checked")
		require.False(t, seen[1].Storing)
		require.Zero(t, d.Client().Customer.Query().CountX(b.Ctx))

		// Such as a taken slug.
		first := transfertest.OneProduct()
		b.load(products, first)
		lines := func() io.Reader {
			return transfertest.Lines(transfertest.OneProduct(), transfertest.OneProduct().With("slug", first["slug"]))
		}
		_, err = load(b.Ctx, b.DB, lines(), options{Kind: products})
		require.EqualError(t, err, fmt.Sprintf("slug is another product's (%q): line 2", first["slug"]))
		require.Equal(t, 1, d.Client().Product.Query().CountX(b.Ctx))
		done, err := load(b.Ctx, b.DB, lines(), options{Kind: products, SkipBad: true})
		require.NoError(t, err)
		require.Equal(t, []int{2, 1, 1}, []int{done.Lines, done.Stored, done.Bad})
		require.Equal(t, 2, d.Client().Product.Query().CountX(b.Ctx))
	})
}

func TestImportedTimesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d)
		line := `{"id":"01990000-0000-7000-8000-000000000001","reference":"R1","status":"PAID","amount":5,"currency":"XAF",` +
			`"platformFeePercent":0,"customer":{"id":"01990000-0000-7000-8000-000000000002","name":"A","email":"a@example.com","phone":null},` +
			`"items":[],"paymentLink":null,"note":null,"paidAt":"2026-09-01T12:00:00.0059Z","createdAt":"2026-09-01T12:00:00.0019Z"}`
		done, err := load(b.Ctx, b.DB, strings.NewReader(line), options{Kind: orders})
		require.NoError(t, err)
		require.Equal(t, 1, done.Stored)
		row := d.Client().Order.Query().OnlyX(b.Ctx)
		require.Equal(t, 1*time.Millisecond, time.Duration(row.CreatedAt.Nanosecond()))
		require.Equal(t, 5*time.Millisecond, time.Duration(row.PaidAt.Nanosecond()))
	})
}

func TestImportOfATextThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	away := errors.New("the disk is gone")
	_, err := load(b.Ctx, b.DB, iotest.ErrReader(away), options{Kind: products})
	require.ErrorIs(t, err, away)
	_, err = load(b.Ctx, b.DB, strings.NewReader("\n\n"+strings.Repeat("x", 2<<20)), options{Kind: products})
	require.ErrorContains(t, err, "is longer than 1 MiB")
	_, err = load(b.Ctx, b.DB, strings.NewReader("\n  \r\n"), options{Kind: products})
	require.EqualError(t, err, "the file is empty: there is nothing to import")
	_, err = load(b.Ctx, b.DB, strings.NewReader("{}"), options{Kind: "stores"})
	require.Error(t, err)
}
