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
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

type two struct {
	*admin.Operator
	stores [2]owned
}

type owned struct {
	store, product, order, link, key string
}

func newTwo(t *testing.T, d *db.DB) two {
	t.Helper()
	ctx := t.Context()
	w := two{Operator: admin.New(d, admin.Options{})}
	for i, slug := range []string{"one", "two"} {
		created, err := w.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: slug, Slug: slug, Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		p, err := w.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: slug, Title: "P", PriceAmount: new(int64(5)),
			Type: storefrontv1.Product_FILE})
		require.NoError(t, err)
		o, err := w.CreateOrder(ctx, &adminv1.CreateOrderRequest{
			Store: slug, Email: new("a@example.com"), Items: []*adminv1.CreateOrderRequest_Item{{ProductId: p.Id, Quantity: 1}},
		})
		require.NoError(t, err)
		k, err := w.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: slug, Name: "k", Scopes: []string{"store:read"},
			Lifetime: adminv1.Key_DAYS_30})
		require.NoError(t, err)
		l, err := w.CreatePaymentLink(shoptest.In(t, ctx, w, slug), &storefrontv1.CreatePaymentLinkRequest{Title: "L",
			Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(5))})
		require.NoError(t, err)
		w.stores[i] = owned{created.Id, p.Id, o.Id, l.Id, k.GetKey().GetId()}
	}
	return w
}

func activity(ctx context.Context, t *testing.T, o admin.API, store string, limit int32) []*adminv1.ActivityEntry {
	t.Helper()
	found, err := o.ListActivity(ctx, &adminv1.ListActivityRequest{Store: store, PageSize: &limit})
	require.NoError(t, err)
	return found.GetEntries()
}

func TestOperatorFindsTheStore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		for _, name := range []string{"two", w.stores[1].store, strings.ToUpper(w.stores[1].store)} {
			ctx, err := w.WithStore(t.Context(), name)
			require.NoError(t, err, name)
			found, actor, ok := tenant.From(ctx)
			require.True(t, ok)
			require.Equal(t, w.stores[1].store, found.ID.String(), name)
			require.Equal(t, tenant.Actor{Type: tenant.ActorOperator, Name: "operator"}, actor)
		}
		for _, name := range []string{"three", "", uuid.NewString(), "TWO"} {
			_, err := w.WithStore(t.Context(), name)
			require.Equal(t, apierr.StoreNotFound, codeOf(err), name)
		}
		stores, err := w.ListStores(t.Context(), &adminv1.ListStoresRequest{PageSize: new(int32(1))})
		require.NoError(t, err)
		require.Len(t, stores.GetStores(), 1)
		require.Equal(t, "two", stores.GetStores()[0].GetSlug(), "newest first")
	})
}

func codeOf(err error) apierr.Code {
	var r *apierr.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// The row is changed in the store that owns it, and the journal shows the operator.
func TestOperatorFindsTheOwner(t *testing.T) {
	t.Parallel()
	rows := []struct {
		action  string
		missing apierr.Code
		id      func(owned) string
		do      func(context.Context, two, string) error
	}{
		{"product.updated", apierr.ProductNotFound, func(o owned) string { return o.product },
			func(ctx context.Context, w two, id string) error {
				_, err := w.SetProductContent(ctx, &adminv1.SetProductContentRequest{ContentReady: new(true),
					Product: &storefrontv1.UpdateProductRequest{Id: id, Title: new("Q")}})
				return err
			}},
		{"payment_link.disabled", apierr.PaymentLinkNotFound, func(o owned) string { return o.link },
			func(ctx context.Context, w two, id string) error {
				_, err := w.DisablePaymentLink(ctx, &adminv1.DisablePaymentLinkRequest{Id: id})
				return err
			}},
		{"api_key.revoked", apierr.APIKeyNotFound, func(o owned) string { return o.key },
			func(ctx context.Context, w two, id string) error {
				_, err := w.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Id: id})
				return err
			}},
		{"order.failed", apierr.OrderNotFound, func(o owned) string { return o.order },
			func(ctx context.Context, w two, id string) error {
				_, err := w.FailOrder(ctx, &adminv1.FailOrderRequest{Id: id})
				return err
			}},
		{"order.paid", apierr.OrderNotFound, func(o owned) string { return o.order },
			func(ctx context.Context, w two, id string) error {
				_, err := w.PayOrder(ctx, &adminv1.PayOrderRequest{Id: id})
				return err
			}},
		{"order.refunded", apierr.OrderNotFound, func(o owned) string { return o.order },
			func(ctx context.Context, w two, id string) error {
				_, err := w.RefundOrder(ctx, &adminv1.RefundOrderRequest{Id: id})
				return err
			}},
	}
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		untouched := activity(t.Context(), t, w, "one", 100)
		for _, row := range rows {
			id := row.id(w.stores[1])
			require.NoError(t, row.do(t.Context(), w, strings.ToUpper(id)), row.action)
			entries := activity(t.Context(), t, w, "two", 1)
			require.Equal(t, row.action, entries[0].Action)
			require.Equal(t, id, entries[0].GetResource().GetId())
			require.Equal(t, adminv1.ActivityEntry_Actor_operator, entries[0].GetActor().GetType())

			for _, unknown := range []string{uuid.NewString(), "", "x", "{" + id + "}", strings.ReplaceAll(id, "-", ""),
				w.stores[1].store} {
				require.Equal(t, row.missing, codeOf(row.do(t.Context(), w, unknown)), "%s %q", row.action, unknown)
			}
		}
		require.Equal(t, apierr.OrderTransition, codeOf(func() error {
			_, err := w.CancelOrder(t.Context(), &adminv1.CancelOrderRequest{Id: w.stores[1].order})
			return err
		}()))
		for store, refused := range map[string]apierr.Code{
			"one": apierr.OrderNotFound, "two": apierr.OrderTransition, "three": apierr.StoreNotFound,
		} {
			_, err := w.CancelOrder(t.Context(), &adminv1.CancelOrderRequest{Id: w.stores[1].order, Store: store})
			require.Equal(t, refused, codeOf(err), store)
		}
		after := activity(t.Context(), t, w, "one", 100)
		require.Len(t, after, len(untouched), "the other store is as it was")
	})
}

func TestOperatorRefusesAnUnknownStore(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	o := admin.New(d, admin.Options{})
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"any call of storefront.v1": func() error { _, err := o.WithStore(ctx, "nowhere"); return err },
		"update":                    func() error { _, err := o.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "nowhere"}); return err },
		"key":                       func() error { _, err := o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "nowhere"}); return err },
		"keys":                      func() error { _, err := o.ListKeys(ctx, &adminv1.ListKeysRequest{Store: "nowhere"}); return err },
		"product": func() error {
			_, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "nowhere"})
			return err
		},
		"order": func() error { _, err := o.CreateOrder(ctx, &adminv1.CreateOrderRequest{Store: "nowhere"}); return err },
		"activity": func() error {
			_, err := o.ListActivity(ctx, &adminv1.ListActivityRequest{Store: "nowhere"})
			return err
		},
		"import": func() error {
			_, err := o.ImportOrders(ctx, &adminv1.ImportOrdersRequest{Store: "nowhere"})
			return err
		},
	} {
		require.Equal(t, apierr.StoreNotFound, codeOf(do()), name)
	}
}
