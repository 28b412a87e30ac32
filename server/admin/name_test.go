package admin_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
)

var missingOf = map[adminv1.ResolveNameRequest_Kind]apierr.Code{
	adminv1.ResolveNameRequest_PRODUCT:      apierr.ProductNotFound,
	adminv1.ResolveNameRequest_ORDER:        apierr.OrderNotFound,
	adminv1.ResolveNameRequest_CUSTOMER:     apierr.CustomerNotFound,
	adminv1.ResolveNameRequest_PAYMENT_LINK: apierr.PaymentLinkNotFound,
	adminv1.ResolveNameRequest_DELIVERY:     apierr.DeliveryNotFound,
}

// A whole id is found in all stores, all else only in the named one.
func TestANameIsResolved(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		two := w.stores[1]
		in := shoptest.In(t, t.Context(), w, "two")
		o, err := w.GetOrder(in, &storefrontv1.GetOrderRequest{Id: two.order})
		require.NoError(t, err)
		l, err := w.GetPaymentLink(in, &storefrontv1.GetPaymentLinkRequest{Id: two.link})
		require.NoError(t, err)
		_, err = w.UpdateCustomer(in, &storefrontv1.UpdateCustomerRequest{Id: o.GetCustomer().GetId(), Phone: new("670000001")})
		require.NoError(t, err)
		resolve := func(kind adminv1.ResolveNameRequest_Kind, store, name string) (string, apierr.Code) {
			found, err := w.ResolveName(t.Context(), &adminv1.ResolveNameRequest{Kind: kind, Store: store, Name: name})
			if err == nil {
				require.Equal(t, "two", found.GetStore(), name)
			}
			return found.GetId(), codeOf(err)
		}
		for kind, names := range map[adminv1.ResolveNameRequest_Kind][]string{
			adminv1.ResolveNameRequest_PRODUCT:      {two.product, "p"},
			adminv1.ResolveNameRequest_ORDER:        {two.order, o.GetReference(), two.order[:23], strings.ToUpper(two.order[9:])},
			adminv1.ResolveNameRequest_CUSTOMER:     {o.GetCustomer().GetId(), "A@EXAMPLE.com", "670 00 00 01", "+237670000001"},
			adminv1.ResolveNameRequest_PAYMENT_LINK: {two.link, l.GetCode(), two.link[len(two.link)-12:]},
		} {
			for _, name := range names {
				id, code := resolve(kind, "two", name)
				require.Empty(t, code, name)
				require.Equal(t, names[0], id, name)
				if name == "p" || name == "A@EXAMPLE.com" {
					continue // store one has these names too
				}
				_, code = resolve(kind, "one", name)
				require.NotEmpty(t, code, "another store's: %s", name)
			}
			id, code := resolve(kind, "", strings.ToUpper(names[0]))
			require.Empty(t, code, "a whole id needs no store")
			require.Equal(t, names[0], id)
			_, code = resolve(kind, "", names[1])
			require.Equal(t, apierr.StoreNotFound, code, "any other name does")
			_, code = resolve(kind, "three", names[1])
			require.Equal(t, apierr.StoreNotFound, code)
		}
		for kind, missing := range missingOf {
			for _, name := range []string{"", "x", "ORD-0", two.order[:7], uuid.NewString(), two.store} {
				_, code := resolve(kind, "two", name)
				require.Equal(t, missing, code, name)
			}
			_, code := resolve(kind, "", uuid.NewString())
			require.Equal(t, missing, code)
		}
		_, code := resolve(adminv1.ResolveNameRequest_KIND_UNSPECIFIED, "two", two.order)
		require.Equal(t, apierr.ValidationFailed, code)

		// They change every 66 seconds, so of three ids made in a row, two neighbours share them.
		ids := []string{two.product}
		for len(ids) < 3 && (len(ids) < 2 || ids[0][:8] != ids[1][:8]) {
			q, err := w.CreateProduct(t.Context(), &adminv1.CreateProductRequest{Store: "two", Title: "Q", Type: storefrontv1.Product_FILE,
				PriceAmount: new(int64(1))})
			require.NoError(t, err)
			ids = append(ids, q.GetId())
		}
		begin := ids[len(ids)-1][:8]
		_, err = w.ResolveName(t.Context(), &adminv1.ResolveNameRequest{Kind: adminv1.ResolveNameRequest_PRODUCT, Store: "two", Name: begin})
		require.Equal(t, apierr.NameAmbiguous, codeOf(err))
		require.ErrorContains(t, err, "The id "+begin+" is ambiguous in the store two: ")
		require.ErrorContains(t, err, ids[len(ids)-2])
	})
}
