package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/product"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// two is an operator of two stores, with a product, an order, a payment link and a key in each.
type two struct {
	*admin.Operator
	stores [2]owned
}

type owned struct {
	store, product, order, link, key string
}

func newTwo(t *testing.T, s *db.DB) two {
	t.Helper()
	ctx := t.Context()
	rules := service.New(s, service.Options{})
	w := two{Operator: admin.New(s, rules)}
	for i, slug := range []string{"one", "two"} {
		created, err := w.CreateStore(ctx, service.StoreDraft{StoreChange: service.StoreChange{Name: new(slug)}, Slug: slug, Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		p, err := w.CreateProduct(ctx, slug, service.ProductDraft{
			ProductChange: service.ProductChange{Title: new("P"), PriceAmount: new(int64(5))}, Type: product.TypeFILE,
		})
		require.NoError(t, err)
		o, err := w.CreateOrder(ctx, slug, service.OrderDraft{
			Buyer: service.Buyer{Email: new("a@example.com")}, Lines: []service.OrderLine{{ProductID: p.Id, Quantity: 1}},
		})
		require.NoError(t, err)
		k, err := w.CreateKey(ctx, slug, service.KeyDraft{Name: "k", Scopes: []string{"store:read"}, Lifetime: "30d"})
		require.NoError(t, err)
		in, err := w.In(ctx, slug)
		require.NoError(t, err)
		l, err := rules.CreatePaymentLink(in, &storefrontv1.CreatePaymentLinkRequest{Title: "L", Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(5))})
		require.NoError(t, err)
		w.stores[i] = owned{created.Id, p.Id, o.Id, l.Id, k.ID.String()}
	}
	return w
}

func TestOperatorFindsTheStore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		w := newTwo(t, s)
		for _, name := range []string{"two", w.stores[1].store, strings.ToUpper(w.stores[1].store)} {
			ctx, err := w.In(t.Context(), name)
			require.NoError(t, err, name)
			found, actor, ok := tenant.From(ctx)
			require.True(t, ok)
			require.Equal(t, w.stores[1].store, found.ID.String(), name)
			require.Equal(t, tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}, actor)
		}
		for _, name := range []string{"three", "", uuid.NewString(), "TWO"} {
			_, err := w.In(t.Context(), name)
			require.Equal(t, apierr.StoreNotFound, codeOf(err), name)
		}
		stores, err := w.ListStores(t.Context(), 1)
		require.NoError(t, err)
		require.Len(t, stores, 1)
		require.Equal(t, "two", stores[0].Slug, "newest first")
	})
}

func codeOf(err error) apierr.Code {
	var r *apierr.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// What an id alone names is changed in the store that owns it, under the operator's name.
func TestOperatorFindsTheOwner(t *testing.T) {
	t.Parallel()
	rows := []struct {
		action  string
		missing apierr.Code
		id      func(owned) string
		do      func(context.Context, two, string) error
	}{
		{"product.updated", apierr.ProductNotFound, func(o owned) string { return o.product }, func(ctx context.Context, w two, id string) error {
			_, err := w.UpdateProduct(ctx, id, service.ProductChange{Title: new("Q")})
			return err
		}},
		{"payment_link.disabled", apierr.PaymentLinkNotFound, func(o owned) string { return o.link }, func(ctx context.Context, w two, id string) error {
			_, err := w.DisablePaymentLink(ctx, id)
			return err
		}},
		{"api_key.revoked", apierr.APIKeyNotFound, func(o owned) string { return o.key }, func(ctx context.Context, w two, id string) error {
			_, err := w.RevokeKey(ctx, id)
			return err
		}},
		{"order.failed", apierr.OrderNotFound, func(o owned) string { return o.order }, func(ctx context.Context, w two, id string) error {
			_, err := w.FailOrder(ctx, id)
			return err
		}},
		{"order.paid", apierr.OrderNotFound, func(o owned) string { return o.order }, func(ctx context.Context, w two, id string) error {
			_, err := w.PayOrder(ctx, id)
			return err
		}},
		{"order.refunded", apierr.OrderNotFound, func(o owned) string { return o.order }, func(ctx context.Context, w two, id string) error {
			_, err := w.RefundOrder(ctx, id)
			return err
		}},
	}
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		w := newTwo(t, s)
		untouched, err := w.ListActivity(t.Context(), "one", 100)
		require.NoError(t, err)
		for _, row := range rows {
			id := row.id(w.stores[1])
			require.NoError(t, row.do(t.Context(), w, strings.ToUpper(id)), row.action)
			entries, err := w.ListActivity(t.Context(), "two", 1)
			require.NoError(t, err)
			require.Equal(t, row.action, entries[0].Action)
			require.Equal(t, id, entries[0].ResourceID.String())
			require.Equal(t, tenant.ActorOperator, entries[0].ActorType)

			for _, unknown := range []string{uuid.NewString(), "", "x", "{" + id + "}", strings.ReplaceAll(id, "-", ""), w.stores[1].store} {
				require.Equal(t, row.missing, codeOf(row.do(t.Context(), w, unknown)), "%s %q", row.action, unknown)
			}
		}
		require.Equal(t, apierr.OrderTransition, codeOf(func() error { _, err := w.CancelOrder(t.Context(), w.stores[1].order); return err }()))
		after, err := w.ListActivity(t.Context(), "one", 100)
		require.NoError(t, err)
		require.Len(t, after, len(untouched), "the other store is as it was")
	})
}

func TestOperatorRefusesAnUnknownStore(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.SQLite, db.Config{})
	o := admin.New(s, service.New(s, service.Options{}))
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"show":     func() error { _, err := o.GetStore(ctx, "nowhere"); return err },
		"update":   func() error { _, err := o.UpdateStore(ctx, "nowhere", service.StoreChange{}); return err },
		"key":      func() error { _, err := o.CreateKey(ctx, "nowhere", service.KeyDraft{}); return err },
		"keys":     func() error { _, err := o.ListKeys(ctx, "nowhere", 1); return err },
		"product":  func() error { _, err := o.CreateProduct(ctx, "nowhere", service.ProductDraft{}); return err },
		"order":    func() error { _, err := o.CreateOrder(ctx, "nowhere", service.OrderDraft{}); return err },
		"activity": func() error { _, err := o.ListActivity(ctx, "nowhere", 1); return err },
		"import": func() error {
			_, err := o.Import(ctx, "nowhere", strings.NewReader(""), service.Import{Kind: service.ImportOrders})
			return err
		},
	} {
		require.Equal(t, apierr.StoreNotFound, codeOf(do()), name)
	}
}
