// Package shoptest creates a store for tests of packages that need one, and reads the journal entries and events of changes.
package shoptest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
)

// Bench is a Shop with one open store, and a context to act on this store as an API key called "tests".
type Bench struct {
	*shop.Shop
	DB  *db.DB
	Ctx context.Context
	T   *testing.T
}

// New returns a Bench whose store has the slug atelier and the currency XAF.
func New(t *testing.T, d *db.DB, o shop.Options) Bench {
	t.Helper()
	b := Bench{Shop: shop.New(d, o), DB: d, T: t}
	b.Ctx = b.NewStore("atelier")
	return b
}

// NewStore creates a further store, with this slug, and returns a context to act on it as an API key called "tests".
func (b Bench) NewStore(slug string) context.Context {
	b.T.Helper()
	operator := tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}
	_, err := b.CreateStore(context.Background(), operator, &adminv1.CreateStoreRequest{
		Name: "Atelier", Slug: slug, Currency: "XAF", Country: "CM",
	})
	require.NoError(b.T, err)
	found, err := b.FindStore(context.Background(), slug)
	require.NoError(b.T, err)
	return WithStore(found)
}

// WithStore returns a context to act on the store as an API key called "tests".
func WithStore(s tenant.Store) context.Context {
	return tenant.With(context.Background(), s, tenant.Actor{Type: tenant.ActorAPIKey, ID: "key", Name: "tests"})
}

// In returns a context for calls of the operator's services about the store with this slug.
func In(t require.TestingT, ctx context.Context, o interface { //nolint:revive // The test comes first, as in require.
	WithStore(ctx context.Context, store string) (context.Context, error)
}, slug string) context.Context {
	ctx, err := o.WithStore(ctx, slug)
	require.NoError(t, err)
	return ctx
}

// Product creates a DRAFT product that lacks nothing to be published.
func (b Bench) Product(title string, price int64) *storefrontv1.Product {
	b.T.Helper()
	p, err := b.CreateProduct(b.Ctx, &adminv1.CreateProductRequest{
		Title: title, PriceAmount: &price, Description: new("<p>text</p>"), ContentReady: new(true), Type: storefrontv1.Product_FILE,
	})
	require.NoError(b.T, err)
	return p
}

// Link creates a FIXED payment link with amount 500. It takes at most maxPayments payments; nil means no limit.
func (b Bench) Link(maxPayments *int32) *storefrontv1.PaymentLink {
	b.T.Helper()
	l, err := b.CreatePaymentLink(b.Ctx, &storefrontv1.CreatePaymentLinkRequest{
		Title: "Workshop", Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(500)), MaxPayments: maxPayments,
	})
	require.NoError(b.T, err)
	return l
}

// Buy creates an order of a buyer with this e-mail: of two pieces of a product or, if productID is empty, through a payment
// link.
func (b Bench) Buy(email, productID, linkID string) *storefrontv1.Order {
	b.T.Helper()
	d := shop.OrderDraft{Buyer: shop.Buyer{Email: &email}, PaymentLinkID: linkID}
	if productID != "" {
		d.Lines = []shop.OrderLine{{ProductID: productID, Quantity: 2}}
	}
	o, err := b.RecordOrder(b.Ctx, d)
	require.NoError(b.T, err)
	return o
}

// Events returns the types of the events in the database, oldest first.
func (b Bench) Events() []string {
	b.T.Helper()
	types, err := b.DB.Client().Event.Query().Order(event.ByID()).Select(event.FieldType).Strings(b.Ctx)
	require.NoError(b.T, err)
	return types
}

// Journal returns the journal entries in the database, oldest first.
func (b Bench) Journal() []*ent.ActivityEntry {
	b.T.Helper()
	entries, err := b.DB.Client().ActivityEntry.Query().Order(activityentry.ByID()).All(b.Ctx)
	require.NoError(b.T, err)
	return entries
}

// Actions returns the actions of journal entries.
func Actions(entries []*ent.ActivityEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Action
	}
	return names
}

// Refused fails the test unless err is a refusal with this code. It returns the refusal.
func Refused(t *testing.T, err error, code apierr.Code) *apierr.Refusal {
	t.Helper()
	var r *apierr.Refusal
	require.True(t, errors.As(err, &r), "want %s, got %v", code, err)
	require.Equal(t, code, r.Code, r.Message)
	return r
}

// RefusalCode returns the code of a refusal, or "" for nil and any other error.
func RefusalCode(err error) apierr.Code {
	if r, ok := errors.AsType[*apierr.Refusal](err); ok {
		return r.Code
	}
	return ""
}

// Clock is a clock that tests advance. Goroutines may share it.
type Clock struct{ milliseconds atomic.Int64 }

// NewClock returns a clock at noon of 1 October 2026, in UTC.
func NewClock() *Clock {
	c := &Clock{}
	c.milliseconds.Store(time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.milliseconds.Load()).UTC() }

// Advance advances the clock.
func (c *Clock) Advance(d time.Duration) { c.milliseconds.Add(d.Milliseconds()) }
