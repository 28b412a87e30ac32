package admin_test

import (
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

func TestNoCustomerGetsAnAddressOfForgottenCustomers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		w := newTwo(t, d)
		ctx, other := t.Context(), uuid.NewString()
		known, err := w.ResolveName(ctx, &adminv1.ResolveNameRequest{Kind: adminv1.ResolveNameRequest_CUSTOMER, Store: "two",
			Name: "a@example.com"})
		require.NoError(t, err)
		in := shoptest.In(t, ctx, w, "two")
		for _, email := range []*string{new(known.GetId() + "@forgotten.invalid"), new("a@Forgotten.INVALID"), new("a@x.forgotten.invalid")} {
			_, err = w.CreateCustomer(in, &storefrontv1.CreateCustomerRequest{Email: email})
			require.Equal(t, apierr.ValidationFailed, codeOf(err), *email)
			_, err = w.UpdateCustomer(in, &storefrontv1.UpdateCustomerRequest{Id: known.GetId(), Email: email})
			require.Equal(t, apierr.ValidationFailed, codeOf(err), *email)
			_, err = w.CreateOrder(ctx, &adminv1.CreateOrderRequest{Store: "two", Email: email,
				Items: []*adminv1.CreateOrderRequest_Item{{ProductId: w.stores[1].product, Quantity: 1}}})
			require.Equal(t, apierr.ValidationFailed, codeOf(err), *email)
			_, err = w.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "two", SupportEmail: email})
			require.Equal(t, apierr.ValidationFailed, codeOf(err), *email)
			out, err := w.ImportCustomers(ctx, &adminv1.ImportCustomersRequest{Store: "two",
				Customers: []*storefrontv1.Customer{{Id: other, Email: email}}})
			require.NoError(t, err)
			require.Equal(t, "email", out.GetRefused()[0].GetField())
			out, err = w.ImportOrders(ctx, &adminv1.ImportOrdersRequest{Store: "two", Orders: []*storefrontv1.Order{{Id: uuid.NewString(),
				Reference: "R", Status: storefrontv1.Order_PAID, Customer: &storefrontv1.Order_Customer{Id: other, Email: email}}}})
			require.NoError(t, err)
			require.Equal(t, "customer.email", out.GetRefused()[0].GetField())
		}
	})
}
