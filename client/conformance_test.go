package client_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/client"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop"
)

// installation is a running server with a new database and one store.
type installation struct {
	rules   *shop.Shop
	keys    *shop.Shop
	ctx     context.Context // context with the store and, as the actor, the operator
	baseURL string
}

func install(t *testing.T, database string) *installation {
	t.Helper()
	opened, err := hook.Open(t.Context(), db.Config{URL: dbtest.URL(t, database), MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	running, err := server.New(server.Config{Addr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0", DB: opened,
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})

	rules := shop.New(opened, shop.Options{})
	operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
	_, err = rules.CreateStore(ctx, operator, &adminv1.CreateStoreRequest{Name: "Atelier", Slug: "atelier", Currency: "XAF",
		Country: "CM"})
	require.NoError(t, err)
	owner, err := rules.FindStore(ctx, "atelier")
	require.NoError(t, err)
	return &installation{rules, shop.New(opened, shop.Options{}), tenant.With(ctx, owner, operator),
		"http://" + running.Addr().String()}
}

// open returns a client with a new key of these scopes.
func (i *installation) open(t *testing.T, scopes ...string) *client.Client {
	t.Helper()
	made, err := i.keys.CreateKey(i.ctx, shop.KeyDraft{Name: "program", Scopes: scopes, Lifetime: adminv1.Key_NEVER})
	require.NoError(t, err)
	opened, err := client.New(i.baseURL, made.Text)
	require.NoError(t, err)
	return opened
}

func codeOf(t *testing.T, err error) (client.Code, int) {
	t.Helper()
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.NotEmpty(t, refused.RequestID)
	require.NotEmpty(t, refused.Message)
	return refused.Code, refused.Status
}

// On a real server each method succeeds once, and is refused once.
func TestEveryMethodOfTheService(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			i := install(t, database)
			c := i.open(t, auth.Scopes()...)
			t.Run("store and keys", func(t *testing.T) { storeAndKeys(t, i, c) })
			t.Run("products", func(t *testing.T) { products(t, i, c) })
			t.Run("customers and orders", func(t *testing.T) { customersAndOrders(t, i, c) })
			t.Run("payment links", func(t *testing.T) { paymentLinks(t, i, c) })
		})
	}
}

func refusedWith(t *testing.T, code client.Code, status int, err error) {
	t.Helper()
	gotCode, gotStatus := codeOf(t, err)
	require.Equal(t, code, gotCode)
	require.Equal(t, status, gotStatus)
}

const nobody = "0198c1f0-0000-7000-8000-000000000000"

func storeAndKeys(t *testing.T, i *installation, c *client.Client) {
	ctx := t.Context()
	found, err := c.Store.Get(ctx)
	require.NoError(t, err)
	require.Equal(t, "Atelier", found.GetName())

	narrow := i.open(t, "store:read")
	_, err = narrow.Products.Page(ctx, client.ProductFilter{})
	refusedWith(t, client.InsufficientScope, 403, err)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "products:read", refused.Details.GetRequired())

	unknown, err := client.New(i.baseURL, key)
	require.NoError(t, err)
	_, err = unknown.Store.Get(ctx)
	refusedWith(t, client.APIKeyInvalid, 401, err)
}

func products(t *testing.T, i *installation, c *client.Client) {
	ctx := t.Context()
	var ids []string
	for _, title := range []string{"a", "b", "c"} {
		made, err := i.rules.CreateProduct(i.ctx, &adminv1.CreateProductRequest{Type: storefrontv1.Product_FILE, Title: title,
			PriceAmount: new(int64(100))})
		require.NoError(t, err)
		ids = append(ids, made.GetId())
	}
	all, err := titles(c.Products.List(ctx, client.ProductFilter{PageSize: 1}))
	require.NoError(t, err)
	require.Equal(t, "c b a", all)
	page, err := c.Products.Page(ctx, client.ProductFilter{Page: 2, PageSize: 2})
	require.NoError(t, err)
	require.EqualValues(t, 3, page.GetTotal())
	require.Len(t, page.GetData(), 1)

	updated, err := c.Products.Update(ctx, ids[0], client.ProductChange{Title: client.Set("z"),
		CompareAtAmount: client.Set[int64](200)})
	require.NoError(t, err)
	require.EqualValues(t, 200, updated.GetCompareAtAmount())
	updated, err = c.Products.Update(ctx, ids[0], client.ProductChange{CompareAtAmount: client.Clear[int64]()})
	require.NoError(t, err)
	require.Nil(t, updated.CompareAtAmount, "the mask clears what has no value")
	require.Equal(t, "z", updated.GetTitle(), "and leaves the rest")
	got, err := c.Products.Get(ctx, ids[0])
	require.NoError(t, err)
	require.Equal(t, "z", got.GetTitle())

	_, err = c.Products.Get(ctx, nobody)
	refusedWith(t, client.ProductNotFound, 404, err)
	_, err = c.Products.Update(ctx, ids[0], client.ProductChange{CompareAtAmount: client.Set[int64](1)})
	refusedWith(t, client.CompareAtInvalid, 400, err)
	_, err = c.Products.Update(ctx, ids[0], client.ProductChange{Status: client.Set(client.ProductPublished)})
	refusedWith(t, client.ProductIncomplete, 422, err)
	_, err = titles(c.Products.List(ctx, client.ProductFilter{PageSize: 101}))
	refusedWith(t, client.ValidationFailed, 400, err)
	require.ErrorContains(t, err, "[pageSize must be")
}

func customersAndOrders(t *testing.T, i *installation, c *client.Client) {
	ctx := t.Context()
	made, err := c.Customers.Create(ctx, client.NewCustomer{Name: "Awa", Phone: "670000001"})
	require.NoError(t, err)
	require.Equal(t, "+237670000001", made.GetPhone())
	known, err := c.Customers.Create(ctx, client.NewCustomer{Phone: "+237670000001", Email: "awa@example.com"})
	require.NoError(t, err)
	require.Equal(t, made.GetId(), known.GetId())
	changed, err := c.Customers.Update(ctx, made.GetId(), client.CustomerChange{Name: client.Set("Awa Ngo")})
	require.NoError(t, err)
	require.Equal(t, "Awa Ngo", changed.GetName())
	got, err := c.Customers.Get(ctx, made.GetId())
	require.NoError(t, err)
	require.Equal(t, "awa@example.com", got.GetEmail())
	count := 0
	for customer, err := range c.Customers.List(ctx, client.CustomerFilter{Q: "AWA"}) {
		require.NoError(t, err)
		require.Equal(t, made.GetId(), customer.GetId())
		count++
	}
	require.Equal(t, 1, count)
	_, err = c.Customers.Create(ctx, client.NewCustomer{Name: "Bo"})
	refusedWith(t, client.CustomerIdentifierRequired, 400, err)
	_, err = c.Customers.Create(ctx, client.NewCustomer{Phone: "abc"})
	refusedWith(t, client.PhoneInvalid, 400, err)
	_, err = c.Customers.Get(ctx, nobody)
	refusedWith(t, client.CustomerNotFound, 404, err)
	_, err = c.Customers.Update(ctx, nobody, client.CustomerChange{Name: client.Set("Bo")})
	refusedWith(t, client.CustomerNotFound, 404, err)
	_, err = c.Customers.Page(ctx, client.CustomerFilter{PageSize: -1})
	refusedWith(t, client.ValidationFailed, 400, err)

	product, err := i.rules.CreateProduct(i.ctx, &adminv1.CreateProductRequest{Type: storefrontv1.Product_FILE, Title: "Guide",
		PriceAmount: new(int64(100))})
	require.NoError(t, err)
	order, err := i.rules.RecordOrder(i.ctx, shop.OrderDraft{CustomerID: made.GetId(),
		Lines: []shop.OrderLine{{ProductID: product.GetId(), Quantity: 2}}})
	require.NoError(t, err)
	read, err := c.Orders.Get(ctx, order.GetId())
	require.NoError(t, err)
	require.True(t, proto.Equal(order, read))
	require.EqualValues(t, 200, read.GetAmount())
	for range c.Orders.List(ctx, client.OrderFilter{To: order.GetCreatedAt().AsTime()}) {
		t.Fatal("To stays out")
	}
	page, err := c.Orders.Page(ctx, client.OrderFilter{From: order.GetCreatedAt().AsTime(), Status: client.OrderPending})
	require.NoError(t, err)
	require.EqualValues(t, 1, page.GetTotal())
	_, err = c.Orders.Get(ctx, nobody)
	refusedWith(t, client.OrderNotFound, 404, err)
	_, err = c.Orders.Page(ctx, client.OrderFilter{Page: -1})
	refusedWith(t, client.ValidationFailed, 400, err)
}

func paymentLinks(t *testing.T, i *installation, c *client.Client) {
	ctx := t.Context()
	made, err := c.PaymentLinks.Create(ctx, client.NewPaymentLink{Title: "Acompte", Pricing: client.FixedPricing, Amount: 500})
	require.NoError(t, err)
	_, err = i.rules.DisablePaymentLink(i.ctx, made.GetId())
	require.NoError(t, err)
	got, err := c.PaymentLinks.Get(ctx, made.GetId())
	require.NoError(t, err)
	require.Equal(t, storefrontv1.PaymentLink_DISABLED, got.GetAvailability())
	enabled, err := c.PaymentLinks.Enable(ctx, made.GetId())
	require.NoError(t, err)
	require.Equal(t, storefrontv1.PaymentLink_ACTIVE, enabled.GetAvailability())
	changed, err := c.PaymentLinks.Update(ctx, made.GetId(), client.PaymentLinkChange{MaxPayments: client.Set[int32](3)})
	require.NoError(t, err)
	require.EqualValues(t, 3, changed.GetMaxPayments())
	page, err := c.PaymentLinks.Page(ctx, client.PaymentLinkFilter{})
	require.NoError(t, err)
	require.EqualValues(t, 1, page.GetTotal())
	for link, err := range c.PaymentLinks.List(ctx, client.PaymentLinkFilter{Status: client.ActivePaymentLinks}) {
		require.NoError(t, err)
		require.Equal(t, made.GetId(), link.GetId())
	}
	_, err = c.PaymentLinks.Create(ctx, client.NewPaymentLink{Title: "x", Pricing: client.FixedPricing})
	refusedWith(t, client.PaymentLinkInvalidPricing, 422, err)
	_, err = c.PaymentLinks.Page(ctx, client.PaymentLinkFilter{Page: -1})
	refusedWith(t, client.ValidationFailed, 400, err)
	_, err = c.PaymentLinks.Get(ctx, nobody)
	refusedWith(t, client.PaymentLinkNotFound, 404, err)
	_, err = c.PaymentLinks.Update(ctx, made.GetId(), client.PaymentLinkChange{ExpiresAt: client.Set(time.Unix(0, 0))})
	refusedWith(t, client.PaymentLinkExpiryPast, 422, err)
	_, err = c.PaymentLinks.Enable(ctx, nobody)
	refusedWith(t, client.PaymentLinkNotFound, 404, err)
}
