package admin_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/transfer/transfertest"
)

// kept is a whole export: for each kind, its rows as lines of JSON.
type kept struct {
	lines map[string][]byte
	kinds []string
	at    *timestamppb.Timestamp
}

func exportOf(t require.TestingT, o admin.API, store string) kept {
	k := kept{lines: map[string][]byte{}}
	err := o.Export(context.Background(), &adminv1.ExportStoreRequest{Store: store}, func(in *adminv1.ExportStoreResponse) error {
		if in.GetRows() == 0 {
			k.kinds = append(k.kinds, in.GetKind())
		}
		require.Equal(t, int(in.GetRows()), strings.Count(in.GetLines(), "\n"))
		k.lines[in.GetKind()] = append(k.lines[in.GetKind()], in.GetLines()...)
		k.at = in.GetExportedAt()
		return nil
	})
	require.NoError(t, err)
	return k
}

func (k kept) request(t require.TestingT, store string, create bool) *adminv1.ImportStoreRequest {
	in := &adminv1.ImportStoreRequest{Store: store, Exported: &adminv1.ExportedStore{}, ExportedAt: k.at, Create: create}
	require.NoError(t, apijson.Unmarshal(bytes.TrimSpace(k.lines["store"]), in.GetExported()))
	return in
}

func (k kept) importInto(t require.TestingT, o admin.API, store string, create bool) (stored int) {
	made, err := o.ImportStore(context.Background(), k.request(t, store, create))
	require.NoError(t, err)
	for _, kind := range transfer.ExportedKinds {
		n, err := transfertest.Rows(context.Background(), o, made.GetId(), kind, k.lines[string(kind)])
		require.NoError(t, err)
		stored += n
	}
	return stored
}

// withoutStores removes the journal entries about the store itself, because an import adds two.
func withoutStores(lines []byte) string {
	kept := strings.Split(string(lines), "\n")
	return strings.Join(slices.DeleteFunc(kept, func(line string) bool {
		return strings.Contains(line, `"resource":{"type":"store"`)
	}), "\n")
}

func history(t *rapid.T, o *admin.Operator, d *db.DB, slug string) []string {
	ctx := context.Background()
	var products, orders, links, customers []string
	sample := func(values []string) string { return rapid.SampledFrom(values).Draw(t, "which") }
	amount := func() *int64 { return new(rapid.Int64Range(1, 90_000).Draw(t, "amount")) }
	for i := range rapid.IntRange(4, 30).Draw(t, "steps") {
		switch step := rapid.IntRange(0, 8).Draw(t, "what"); {
		case step == 0 || len(products) == 0:
			p, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: slug, Title: fmt.Sprintf("Guide é %d", i),
				PriceAmount: amount(),
				Type:        storefrontv1.Product_Type(rapid.IntRange(1, 5).Draw(t, "type")), Description: new("<p>t</p>"),
				ContentReady: new(rapid.Bool().Draw(t, "ready"))})
			require.NoError(t, err)
			products = append(products, p.GetId())
		case step == 1:
			_, err := o.SetProductContent(ctx, &adminv1.SetProductContentRequest{ContentReady: new(rapid.Bool().Draw(t, "ready")),
				Product: &storefrontv1.UpdateProductRequest{Id: sample(products), PriceAmount: amount(), Summary: new("x"),
					Status: storefrontv1.Product_Status(rapid.IntRange(1, 3).Draw(t, "status")).Enum()}})
			refusedOrDone(t, err)
		case step == 2:
			c, err := o.CreateCustomer(shoptest.In(t, ctx, o, slug), &storefrontv1.CreateCustomerRequest{Name: fmt.Sprintf("Guide %d", i),
				Email: new(fmt.Sprintf("b%d@example.com", i))})
			require.NoError(t, err)
			customers = append(customers, c.GetId())
		case step == 3 && len(customers) > 0:
			_, err := o.UpdateCustomer(shoptest.In(t, ctx, o, slug), &storefrontv1.UpdateCustomerRequest{Id: sample(customers), Name: new("Awa é"),
				Phone: new(fmt.Sprintf("+2376700%05d", i))})
			refusedOrDone(t, err)
		case step == 4:
			l, err := o.CreatePaymentLink(shoptest.In(t, ctx, o, slug), &storefrontv1.CreatePaymentLinkRequest{Title: "L", Description: new("d"),
				Pricing: storefrontv1.PaymentLink_FIXED, Amount: amount(), MaxPayments: new(int32(2))})
			require.NoError(t, err)
			links = append(links, l.GetId())
		case step == 5 && len(links) > 0:
			_, err := o.DisablePaymentLink(ctx, &adminv1.DisablePaymentLinkRequest{Id: sample(links)})
			require.NoError(t, err)
		case step == 6 || step == 7 || len(orders) == 0:
			in := &adminv1.CreateOrderRequest{Store: slug, Email: new(fmt.Sprintf("o%d@example.com", i%4)), Note: new("n")}
			if len(links) > 0 && step == 7 {
				in.PaymentLinkId = sample(links)
			} else {
				in.Items = []*adminv1.CreateOrderRequest_Item{{ProductId: sample(products), Quantity: 2}, {ProductId: sample(products),
					Quantity: 1}}
			}
			order, err := o.CreateOrder(ctx, in)
			refusedOrDone(t, err)
			if err == nil {
				orders = append(orders, order.GetId())
			}
		default:
			move := rapid.SampledFrom([]func(context.Context, string) error{
				func(ctx context.Context, id string) error {
					_, err := o.PayOrder(ctx, &adminv1.PayOrderRequest{Id: id})
					return err
				},
				func(ctx context.Context, id string) error {
					_, err := o.FailOrder(ctx, &adminv1.FailOrderRequest{Id: id})
					return err
				},
				func(ctx context.Context, id string) error {
					_, err := o.RefundOrder(ctx, &adminv1.RefundOrderRequest{Id: id})
					return err
				},
			}).Draw(t, "move")
			refusedOrDone(t, move(ctx, sample(orders)))
		}
	}
	store, err := o.GetStore(shoptest.In(t, ctx, o, slug), &storefrontv1.GetStoreRequest{})
	require.NoError(t, err)
	// Insert an erased customer, and an event about that customer.
	forgotten := uuid.New()
	imported, err := o.ImportCustomers(ctx, &adminv1.ImportCustomersRequest{Store: slug, Customers: []*storefrontv1.Customer{
		{Id: forgotten.String(), Email: new(resource.ForgottenEmail(forgotten))}}})
	require.NoError(t, err)
	require.EqualValues(t, 1, imported.GetStored(), imported)
	_, err = d.Writer().ExecContext(ctx, "INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)",
		uuid.Must(uuid.NewV7()), uuid.MustParse(store.GetId()), "order.paid", []byte(`{"forgotten":true}`),
		time.UnixMilli(1_790_000_000_000).UTC())
	require.NoError(t, err)
	for i, status := range []string{"succeeded", "failed", "cancelled"} {
		_, err := d.Writer().ExecContext(ctx, `INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status,
 attempts, created_at, finished_at) VALUES ($1, $2, $3, $4, 'order.paid', $5, $6, $7, $7)`, uuid.Must(uuid.NewV7()),
			uuid.MustParse(store.GetId()),
			uuid.New(), uuid.New(), status, []byte(`[{"number":1,"startedAt":"2026-01-01T00:00:00.000Z","durationMs":7,"statusCode":500,`+
				`"error":"answered 500","answer":"no"}]`), time.UnixMilli(1_790_000_000_000+int64(i)).UTC())
		require.NoError(t, err)
	}
	return products
}

func refusedOrDone(t *rapid.T, err error) {
	if err != nil {
		var r *apierr.Refusal
		require.ErrorAs(t, err, &r)
	}
}

// listsOf returns all lists of a store, which also show totals and the order of rows.
func listsOf(t require.TestingT, o *admin.Operator, slug string) (all []string) {
	ctx := context.Background()
	note := func(m proto.Message, err error) {
		require.NoError(t, err)
		all = append(all, string(apijson.Marshal(m)))
	}
	for status := range int32(6) { // 0 means any status
		note(o.ListProducts(shoptest.In(t, ctx, o, slug), &storefrontv1.ListProductsRequest{PageSize: new(int32(3)), Q: new("guide"),
			Status: storefrontv1.Product_Status(status % 4).Enum()}))
		note(o.ListOrders(shoptest.In(t, ctx, o, slug), &storefrontv1.ListOrdersRequest{Page: new(int64(2)), PageSize: new(int32(2)),
			Status: storefrontv1.Order_Status(status).Enum()}))
		note(o.ListPaymentLinks(shoptest.In(t, ctx, o, slug), &storefrontv1.ListPaymentLinksRequest{
			Status: storefrontv1.ListPaymentLinksRequest_Status(status % 3).Enum()}))
	}
	found, err := o.ListCustomers(shoptest.In(t, ctx, o, slug), &storefrontv1.ListCustomersRequest{PageSize: new(int32(100))})
	note(found, err)
	for _, c := range found.GetData() {
		note(o.ListCustomerOrders(ctx, &adminv1.ListCustomerOrdersRequest{Id: c.GetId()}))
	}
	note(o.ListEvents(ctx, &adminv1.ListEventsRequest{Store: slug, PageSize: new(int32(20))}))
	note(o.ListDeliveries(ctx, &adminv1.ListDeliveriesRequest{Store: slug}))
	return all
}

func init() {
	if !need.Required() {
		_ = flag.Set("rapid.checks", "5") // of a hundred random stores, unless the command line says otherwise
	}
}

// Every list of a random store is the same, even in the other kind of database, and a change has the same effect.
func TestAnExportIsImportedWhole(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.SQLite}, {dbtest.SQLite, dbtest.Postgres},
		{dbtest.Postgres, dbtest.SQLite}, {dbtest.Postgres, dbtest.Postgres}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			d, target := dbtest.New(t, way[0], db.Config{}), dbtest.New(t, way[1], db.Config{})
			from, to := admin.New(d, admin.Options{}), admin.New(target, admin.Options{})
			n := 0
			rapid.Check(t, func(t *rapid.T) {
				n++
				slug := fmt.Sprint("s", n)
				money := rapid.SampledFrom([]string{"XAF", "KWD", "EUR", "NGN"}).Draw(t, "currency")
				_, err := from.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: money, Country: "CM",
					Description: new("d"), SocialLinks: map[string]string{"x": "https://x.example/s"}, PlatformFeePercent: new(2.5),
					UnavailableTypes: []storefrontv1.Product_Type{storefrontv1.Product_EVENT}})
				require.NoError(t, err)
				products := history(t, from, d, slug)
				exported := exportOf(t, from, slug)
				require.Positive(t, exported.importInto(t, to, slug, true))
				require.Zero(t, exported.importInto(t, to, slug, true), "again: nothing twice")
				found, err := from.GetStore(shoptest.In(t, t.Context(), from, slug), &storefrontv1.GetStoreRequest{})
				require.NoError(t, err)
				var orders []byte
				require.NoError(t, resource.EachOrder(t.Context(), d.Reader(), tenant.Store{ID: uuid.MustParse(found.GetId()),
					Currency: money}, 1, func(o *storefrontv1.Order) error {
					orders = append(apijson.Append(orders, o), '\n')
					return nil
				}))
				require.Equal(t, string(exported.lines["orders"]), string(orders), "in pages of one order")
				require.Equal(t, listsOf(t, from, slug), listsOf(t, to, slug))
				again := exportOf(t, to, slug)
				for _, kind := range exported.kinds {
					require.Equal(t, withoutStores(exported.lines[kind]), withoutStores(again.lines[kind]), kind)
				}
				for _, id := range products {
					publish := &storefrontv1.UpdateProductRequest{Id: id, Status: storefrontv1.Product_PUBLISHED.Enum()}
					source, want := from.UpdateProduct(shoptest.In(t, t.Context(), from, slug), publish)
					target, got := to.UpdateProduct(shoptest.In(t, t.Context(), to, slug), publish)
					require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
					require.Equal(t, source.GetStatus(), target.GetStatus())
				}
			})
		})
	}
}

// An order is paid meanwhile. Only maxExports exports may run at once.
func TestAnExportIsOfOneInstant(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		before := exportOf(t, w, "one")
		first := true
		require.NoError(t, w.Export(t.Context(), &adminv1.ExportStoreRequest{Store: "one"},
			func(in *adminv1.ExportStoreResponse) error {
				if first { // the order is paid now, before the export reads the orders
					first = false
					_, err := w.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: w.stores[0].order})
					require.NoError(t, err)
					require.NoError(t, w.Export(t.Context(), &adminv1.ExportStoreRequest{Store: "two"},
						func(*adminv1.ExportStoreResponse) error {
							refused := w.Export(t.Context(), &adminv1.ExportStoreRequest{Store: "one"}, nil)
							var r *apierr.Refusal
							require.ErrorAs(t, refused, &r)
							require.Equal(t, apierr.Unavailable, r.Code)
							return nil
						}))
				}
				require.True(t, strings.HasPrefix(string(before.lines[in.GetKind()]), in.GetLines()), in.GetKind())
				return nil
			}))
		require.NotEqual(t, before.lines["orders"], exportOf(t, w, "one").lines["orders"])
		for kind, lines := range before.lines {
			require.NotContains(t, string(lines), w.stores[1].order, kind)
			require.NotContains(t, string(lines), "whsec_", kind)
		}
	})
}

func TestAnExportIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		exported := exportOf(t, w, "one")
		other := admin.New(dbtest.New(t, dbtest.SQLite, db.Config{}), admin.Options{})
		for slug, codes := range map[string][2]string{"eur": {"EUR", "CM"}, "fr": {"XAF", "FR"}, "full": {"XAF", "CM"},
			"leaving": {"XAF", "CM"}} {
			_, err := other.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: codes[0],
				Country: codes[1]})
			require.NoError(t, err)
		}
		_, err := other.CreateCustomer(shoptest.In(t, t.Context(), other, "full"), &storefrontv1.CreateCustomerRequest{Email: new("a@example.com")})
		require.NoError(t, err)
		_, err = other.DeleteStore(t.Context(), &adminv1.DeleteStoreRequest{Store: "leaving"})
		require.NoError(t, err)
		for _, row := range []struct {
			into        *admin.Operator
			store, want string
			create      bool
		}{
			{w.Operator, "two", "must be in another database than the exported store one", false},
			{w.Operator, "new", "must be in another database than the exported store one", true},
			{w.Operator, "one", "must be empty, and has products", false},
			{other, "eur", "must be of XAF and CM, as the exported one, not of EUR and CM", false},
			{other, "fr", "not of XAF and FR", true},
			{other, "full", "must be empty, and has customers", true},
			{other, "none", "There is no store none.", false},
			{other, "leaving", "must not be about to be deleted", true},
		} {
			request := exported.request(t, row.store, row.create)
			request.Exported.Store.Status = storefrontv1.Store_closed // a store that is about to be deleted may be set to closed only
			_, err := row.into.ImportStore(t.Context(), request)
			var r *apierr.Refusal
			require.ErrorAs(t, err, &r, row.store)
			text := r.Message
			for _, f := range r.Details.GetFields() {
				text += " " + f.GetMessage()
			}
			require.Contains(t, text, row.want)
		}
		for kind, line := range map[transfer.Kind]string{
			"coupons": `{}`, transfer.Events: `{"id":"x"}`, transfer.Links: `{"id":1}`,
			transfer.Activity:   `{"id":"` + uuid.NewString() + `","changes":"[]"}`,
			transfer.Deliveries: `{"finishedAt":"2026-01-01T00:00:00Z"}`,
		} {
			out, err := other.ImportRows(t.Context(), &adminv1.ImportRowsRequest{Store: "full", Kind: string(kind), Lines: line})
			require.True(t, err != nil || len(out.GetRefused()) > 0, kind)
			require.False(t, err == nil && strings.Contains(fmt.Sprint(out), "internal"), kind)
		}
	})
}
