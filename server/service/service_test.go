package service_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/keys"
	"go.storefront.example/server/service"
	"go.storefront.example/server/webhooks"
)

// rules are what can be done to a store through one server.
type rules struct {
	*service.Shop
	*webhooks.Webhooks
	*keys.Keys
}

func newRules(t *testing.T, s *db.DB, o service.Options) *rules {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return &rules{service.New(s, o), webhooks.New(s, webhooks.Options{Secrets: seal.NewRing(key)}), keys.New(s)}
}

// bench is the rules with one open store, whose context is that of a key called "tests".
type bench struct {
	*rules
	store *db.DB
	ctx   context.Context
	t     *testing.T
}

func ptr[T any](v T) *T { return &v }

func newBench(t *testing.T, s *db.DB, o service.Options) bench {
	t.Helper()
	b := bench{rules: newRules(t, s, o), store: s, t: t}
	b.ctx = b.newStore("atelier")
	return b
}

// newStore creates a store and returns a context in which a key acts on it.
func (b bench) newStore(slug string) context.Context {
	b.t.Helper()
	_, err := b.CreateStore(context.Background(), tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}, &adminv1.CreateStoreRequest{
		Name: "Atelier", Slug: slug, Currency: "XAF", Country: "CM",
	})
	require.NoError(b.t, err)
	found, err := b.FindStore(context.Background(), slug)
	require.NoError(b.t, err)
	return as(found)
}

// as returns a context in which a key called "tests" acts on the store.
func as(s tenant.Store) context.Context {
	return tenant.With(context.Background(), s, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "tests"})
}

// product creates a DRAFT product that could be published.
func (b bench) product(title string, price int64) *storefrontv1.Product {
	b.t.Helper()
	p, err := b.CreateProduct(b.ctx, &adminv1.CreateProductRequest{
		Title: title, PriceAmount: &price, Description: ptr("<p>text</p>"), ContentReady: ptr(true), Type: storefrontv1.Product_FILE,
	})
	require.NoError(b.t, err)
	return p
}

// link creates a FIXED payment link of 500 with a cap, or none.
func (b bench) link(maxPayments *int32) *storefrontv1.PaymentLink {
	b.t.Helper()
	l, err := b.CreatePaymentLink(b.ctx, &storefrontv1.CreatePaymentLinkRequest{
		Title: "Workshop", Pricing: storefrontv1.PaymentLink_FIXED, Amount: ptr(int64(500)), MaxPayments: maxPayments,
	})
	require.NoError(b.t, err)
	return l
}

// buy records an order of one product, or through a link, by a buyer with this e-mail.
func (b bench) buy(email, productID, linkID string) *storefrontv1.Order {
	b.t.Helper()
	d := service.OrderDraft{Buyer: service.Buyer{Email: &email}, PaymentLinkID: linkID}
	if productID != "" {
		d.Lines = []service.OrderLine{{ProductID: productID, Quantity: 2}}
	}
	o, err := b.RecordOrder(b.ctx, d)
	require.NoError(b.t, err)
	return o
}

// events returns the types of the store's outbox rows, oldest first.
func (b bench) events() []string {
	b.t.Helper()
	types, err := b.store.Client().Event.Query().Order(event.ByID()).Select(event.FieldType).Strings(b.ctx)
	require.NoError(b.t, err)
	return types
}

// journal returns the store's journal entries, oldest first.
func (b bench) journal() []*ent.ActivityEntry {
	b.t.Helper()
	entries, err := b.store.Client().ActivityEntry.Query().Order(activityentry.ByID()).All(b.ctx)
	require.NoError(b.t, err)
	return entries
}

func actions(entries []*ent.ActivityEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Action
	}
	return names
}

// refused asserts the code of a refusal and returns it.
func refused(t *testing.T, err error, code apierr.Code) *apierr.Refusal {
	t.Helper()
	var r *apierr.Refusal
	require.True(t, errors.As(err, &r), "want %s, got %v", code, err)
	require.Equal(t, code, r.Code, r.Message)
	return r
}

func refusalCode(err error) apierr.Code {
	var r *apierr.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
