package admin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
)

// notIDs may be no row's id from outside. In upper case they are the same ids.
var notIDs = []string{uuid.Nil.String(), uuid.Max.String(), strings.ToUpper(uuid.Max.String()), "123", "", "{" + uuid.NewString() + "}",
	strings.ReplaceAll(uuid.NewString(), "-", "")}

func filledStore(t *testing.T, o *admin.Operator, d *db.DB) kept {
	t.Helper()
	ctx := t.Context()
	_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	p, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "s", Title: "P", PriceAmount: new(int64(5)), Type: storefrontv1.Product_FILE})
	require.NoError(t, err)
	_, err = o.CreatePaymentLink(shoptest.In(t, ctx, o, "s"), &storefrontv1.CreatePaymentLinkRequest{Title: "L", Pricing: storefrontv1.PaymentLink_FIXED,
		Amount: new(int64(5))})
	require.NoError(t, err)
	_, err = o.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: "s", Url: "https://example.com/"})
	require.NoError(t, err)
	_, err = o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "s", Name: "K", Scopes: []string{"products:read"}, Lifetime: adminv1.Key_NEVER})
	require.NoError(t, err)
	order, err := o.CreateOrder(ctx, &adminv1.CreateOrderRequest{Store: "s", Email: new("b@example.com"),
		Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.GetId(), Quantity: 1}}})
	require.NoError(t, err)
	_, err = o.PayOrder(ctx, &adminv1.PayOrderRequest{Id: order.GetId()})
	require.NoError(t, err)
	s, err := d.Client().Store.Query().Where(store.Slug("s")).Only(ctx)
	require.NoError(t, err)
	_, err = d.Writer().ExecContext(ctx, `INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status,
 attempts, created_at, finished_at) VALUES ($1, $2, $3, $4, 'order.paid', 'succeeded', '[]', $5, $5)`, id.At(d.Now()), s.ID, uuid.New(),
		uuid.New(), d.Now())
	require.NoError(t, err)
	return withSecrets(t, o, "s")
}

// Zero, all ones and no UUID are refused by line and field, wherever rows come in.
func TestNoRowFromOutsideHasAReservedID(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{dbtest.SQLite, dbtest.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			d := dbtest.New(t, dialect, db.Config{})
			o := sealing(t, d)
			k := filledStore(t, o, d)
			empty, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "E", Slug: "empty", Currency: "XAF", Country: "CM"})
			require.NoError(t, err)
			for _, bad := range notIDs {
				in := k.request(t, "taken-over", true)
				in.Exported.Store.Id = bad
				_, err := o.ImportStore(ctx, in)
				require.True(t, apierr.Is(err, apierr.ValidationFailed), "a store with the id %q: %v", bad, err)
				refusal, _ := errors.AsType[*apierr.Refusal](err)
				require.Equal(t, "exported.store.id", refusal.Details.GetFields()[0].GetField())

				for _, kind := range append(transfer.ExportedKinds, transfer.SecretKinds...) {
					line, _, _ := bytes.Cut(k.lines[string(kind)], []byte("\n"))
					require.NotEmpty(t, line, kind)
					_, after, _ := bytes.Cut(line, []byte(`"id":"`))
					out, err := o.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: empty.GetId(), Kind: string(kind),
						Lines: strings.Replace(string(line), string(after[:36]), bad, 1)})
					require.NoError(t, err)
					require.NotEmpty(t, out.GetRefused(), "%s with the id %q", kind, bad)
					require.Regexp(t, `^((webhook|key)\.)?id$`, out.GetRefused()[0].GetField())
				}

				for name, one := range map[string]func() (*adminv1.ImportResponse, error){
					"id of a product": func() (*adminv1.ImportResponse, error) {
						return o.ImportProducts(ctx, &adminv1.ImportProductsRequest{Store: "empty", Products: []*storefrontv1.Product{
							{Id: bad, Title: "P"}}})
					},
					"id of a customer": func() (*adminv1.ImportResponse, error) {
						return o.ImportCustomers(ctx, &adminv1.ImportCustomersRequest{Store: "empty", Customers: []*storefrontv1.Customer{
							{Id: bad, Email: new("a@example.com")}}})
					},
					"id of an order": func() (*adminv1.ImportResponse, error) {
						return importOrder(o, func(o *storefrontv1.Order) { o.Id = bad })
					},
					"customer.id of an order": func() (*adminv1.ImportResponse, error) {
						return importOrder(o, func(o *storefrontv1.Order) { o.Customer.Id = bad })
					},
					"items[0].id of an order": func() (*adminv1.ImportResponse, error) {
						return importOrder(o, func(o *storefrontv1.Order) { o.Items[0].Id = bad })
					},
					"items[0].productId of an order": func() (*adminv1.ImportResponse, error) {
						return importOrder(o, func(o *storefrontv1.Order) { o.Items[0].ProductId = bad })
					},
					"paymentLink.id of an order": func() (*adminv1.ImportResponse, error) {
						return importOrder(o, func(o *storefrontv1.Order) { o.PaymentLink = &storefrontv1.Order_PaymentLink{Id: bad} })
					},
				} {
					out, err := one()
					require.NoError(t, err)
					field, _, _ := strings.Cut(name, " ")
					require.NotEmpty(t, out.GetRefused(), "%s %q", name, bad)
					require.Equal(t, field, out.GetRefused()[0].GetField(), name)
				}
			}
			for _, unknown := range []string{"1380b703-ce81-ff05-f115-39571d94dfcd", "F0B8C7F1-3B7C-E911-9C5B-00155D0A0B0C"} {
				out, err := importOrder(o, func(o *storefrontv1.Order) { o.Id, o.Reference = unknown, unknown[:8] })
				require.NoError(t, err)
				require.Empty(t, out.GetRefused(), "other shops have ids of every version and variant")
			}
		})
	}
}

func oneOrder() *storefrontv1.Order {
	return &storefrontv1.Order{Id: uuid.NewString(), Reference: "R-1", Status: storefrontv1.Order_PENDING, CreatedAt: timestamppb.Now(),
		Customer: &storefrontv1.Order_Customer{Id: uuid.NewString(), Email: new(uuid.NewString() + "@example.com")},
		Items: []*storefrontv1.Order_Item{{Id: uuid.NewString(), ProductId: uuid.NewString(), Type: storefrontv1.Product_FILE, Title: "T",
			Quantity: 1}}}
}

func importOrder(o *admin.Operator, change func(*storefrontv1.Order)) (*adminv1.ImportResponse, error) {
	in := oneOrder()
	change(in)
	return o.ImportOrders(context.Background(), &adminv1.ImportOrdersRequest{Store: "empty", Orders: []*storefrontv1.Order{in}})
}

func TestTheTablesRefuseReservedIDs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		o := sealing(t, d)
		filledStore(t, o, d)
		tables := []string{"activity_entries", "api_keys", "customers", "events", "finished_deliveries", "order_items", "orders",
			"payment_links", "products", "stores", "webhooks"}
		for _, table := range tables {
			for _, reserved := range []uuid.UUID{uuid.Nil, uuid.Max} {
				_, err := d.Writer().ExecContext(ctx, "CREATE TEMPORARY TABLE one AS SELECT * FROM "+table+" LIMIT 1")
				require.NoError(t, err)
				_, err = d.Writer().ExecContext(ctx, "UPDATE one SET id = $1", reserved)
				require.NoError(t, err)
				_, err = d.Writer().ExecContext(ctx, "INSERT INTO "+table+" SELECT * FROM one")
				require.ErrorContains(t, err, "reserved_id", "%s with the id %s", table, reserved)
				_, err = d.Writer().ExecContext(ctx, "DROP TABLE one")
				require.NoError(t, err)
			}
		}
	})
}

// No slug, reference or code can stand for another row's id, in any form of a UUID.
func TestNoNameHasTheFormOfAnID(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		o := sealing(t, d)
		k := filledStore(t, o, d)
		other, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "E", Slug: "empty", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		plain := other.GetId()
		for _, name := range []string{plain, strings.ToUpper(plain), strings.ReplaceAll(plain, "-", ""), "{" + plain + "}", "urn:uuid:" + plain,
			"URN:UUID:" + strings.ToUpper(plain), " " + plain + " "} {
			refused := func(err error, door string) {
				t.Helper()
				require.True(t, apierr.Is(err, apierr.ValidationFailed), "%s takes %q: %v", door, name, err)
			}
			_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "E", Slug: name, Currency: "XAF", Country: "CM"})
			refused(err, "a new store")
			if in := k.request(t, name, true); strings.TrimSpace(name) != name || len(name) != 36 { // otherwise it names the store
				in.Exported.Store.Id = uuid.Must(uuid.NewV7()).String()
				_, err = o.ImportStore(ctx, in)
				refused(err, "an imported store")
			}
			_, err = o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "s", Title: "P", Slug: name, PriceAmount: new(int64(5)),
				Type: storefrontv1.Product_FILE})
			refused(err, "a new product")
			_, err = o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "s", Name: name, Scopes: []string{"products:read"},
				Lifetime: adminv1.Key_NEVER})
			refused(err, "a new key")

			named := func(field string, out *adminv1.ImportResponse, err error) {
				t.Helper()
				require.NoError(t, err)
				require.NotEmpty(t, out.GetRefused(), "an import takes the %s %q", field, name)
				require.Equal(t, field, out.GetRefused()[0].GetField())
			}
			out, err := o.ImportProducts(ctx, &adminv1.ImportProductsRequest{Store: "s", Products: []*storefrontv1.Product{
				{Id: uuid.NewString(), Title: "P", Slug: name}}})
			named("slug", out, err)
			out, err = importOrder(o, func(o *storefrontv1.Order) { o.Reference = name })
			named("reference", out, err)
			for kind, field := range map[transfer.Kind]string{transfer.Products: "slug", transfer.Orders: "reference", transfer.Links: "code"} {
				line, _, _ := bytes.Cut(k.lines[string(kind)], []byte("\n"))
				before, after, found := bytes.Cut(line, []byte(`"`+field+`":"`))
				require.True(t, found)
				_, after, _ = bytes.Cut(after, []byte(`"`))
				out, err := o.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: "empty", Kind: string(kind),
					Lines: fmt.Sprintf(`%s"%s":"%s"%s`, before, field, name, after)})
				named(field, out, err)
			}

			p, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "s", Title: name, PriceAmount: new(int64(5)),
				Type: storefrontv1.Product_FILE})
			require.NoError(t, err)
			_, err = uuid.Parse(p.GetSlug())
			require.Error(t, err, "the slug %s was made from a title", p.GetSlug())
			made := uuid.New()
			require.NotContains(t, transfer.SlugsOf(name, made), strings.ToLower(strings.TrimSpace(name)))
		}

		// Release 2026-09 used an order's id as its missing reference. Its exports are still imported.
		order := oneOrder()
		for reference, refused := range map[string]int{uuid.NewString(): 1, order.GetId(): 0} {
			order.Reference = reference
			out, err := o.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: "empty", Kind: "orders", Lines: string(apijson.Marshal(order))})
			require.NoError(t, err)
			require.Len(t, out.GetRefused(), refused, "%v", out.GetRefused())
		}

		// Stores of an older release may have such slugs: the name then stands for neither store.
		_, err = d.Writer().ExecContext(ctx, "UPDATE stores SET slug = $1 WHERE slug = 's'", other.GetId())
		require.NoError(t, err)
		_, err = o.DeleteStore(ctx, &adminv1.DeleteStoreRequest{Store: other.GetId()})
		require.ErrorContains(t, err, "is the slug of one store and the id of another")
	})
}

// On PostgreSQL the primary keys would accept both.
func TestTwoImportsAtOnceDoNotStoreOneIDTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		from := dbtest.New(t, dbtest.SQLite, db.Config{})
		k := filledStore(t, sealing(t, from), from)
		o := sealing(t, d)
		for _, slug := range []string{"a", "b"} {
			_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: "XAF", Country: "CM"})
			require.NoError(t, err)
			_, err = o.ImportStore(ctx, k.request(t, slug, false))
			require.NoError(t, err)
		}
		for _, kind := range []transfer.Kind{transfer.Products, transfer.Customers, transfer.Links, transfer.Events, transfer.Activity} {
			// Hold the lock of each store's row, so that both imports have begun before one can store its rows.
			holding, held := make(chan struct{}), make(chan struct{})
			var holder, imports sync.WaitGroup
			holder.Go(func() {
				err := d.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
					if _, err := db.Lock(d, tx.Store.Query()).All(ctx); err != nil {
						return err
					}
					close(held)
					<-holding
					return nil
				})
				if err != nil {
					panic(err)
				}
			})
			<-held
			line, _, _ := bytes.Cut(k.lines[string(kind)], []byte("\n"))
			answers := make([]*adminv1.ImportResponse, 2)
			errs := make([]error, 2)
			for i, slug := range []string{"a", "b"} {
				imports.Go(func() {
					answers[i], errs[i] = o.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: slug, Kind: string(kind), Lines: string(line)})
				})
			}
			close(holding)
			holder.Wait()
			imports.Wait()
			require.NoError(t, errs[0])
			require.NoError(t, errs[1])
			require.EqualValues(t, 1, answers[0].GetStored()+answers[1].GetStored(), kind)
			refused := append(answers[0].GetRefused(), answers[1].GetRefused()...)
			require.Len(t, refused, 1)
			_, after, _ := bytes.Cut(line, []byte(`"id":"`))
			if kind == transfer.Products && db.ByDialect(d, true, false) { // as imports of an older release could do
				_, err := d.Writer().ExecContext(ctx, "INSERT INTO products SELECT p.id, title, title_folded, p.slug, type, p.status, summary, "+
					"p.description, price_amount, compare_at_amount, p.url, cover_url, content_ready, published_at, p.created_at, p.updated_at, "+
					"s.id FROM products p, stores s WHERE s.id <> p.store_id")
				require.NoError(t, err)
				_, err = o.ResolveName(ctx, &adminv1.ResolveNameRequest{Kind: adminv1.ResolveNameRequest_PRODUCT, Name: string(after[:36])})
				require.True(t, apierr.Is(err, apierr.ProductNotFound), "%v", err)
				require.ErrorContains(t, err, "Several stores have a product with the id "+string(after[:36]))
			}
			require.Equal(t, string(after[:36])+" belongs to another store", refused[0].GetMessage())
		}
	})
}
