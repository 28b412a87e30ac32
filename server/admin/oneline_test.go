package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// Platforms put these texts into subjects of mails. Others, such as descriptions, keep their lines.
func TestNamesTitlesAndReferencesAreOneLine(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		ring := sealingRing(t)
		o := admin.New(d, admin.Options{Webhooks: webhooks.Options{Secrets: ring}})
		filledStore(t, o, d)
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "E", Slug: "empty", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		in := shoptest.In(t, ctx, o, "s")
		product, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "s", Title: "P", PriceAmount: new(int64(5)),
			Type: storefrontv1.Product_FILE, Description: new("a\nb\u2028c")})
		require.NoError(t, err)
		require.Equal(t, "a\nb\u2028c", product.GetDescription())
		customer, err := o.CreateCustomer(in, &storefrontv1.CreateCustomerRequest{Email: new("c@example.com")})
		require.NoError(t, err)
		link, err := o.CreatePaymentLink(in, &storefrontv1.CreatePaymentLinkRequest{Title: "L",
			Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(5))})
		require.NoError(t, err)
		for _, end := range []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"} {
			for _, text := range []string{"A" + end + "B", "A" + end + end + "B" + end} {
				for door, call := range map[string]func() error{
					"a new store": func() error {
						_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: text, Slug: "x", Currency: "XAF", Country: "CM"})
						return err
					},
					"a store": func() error {
						_, err := o.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "s", Name: &text})
						return err
					},
					"a social network": func() error {
						_, err := o.UpdateStore(ctx, &adminv1.UpdateStoreRequest{Store: "s", SocialLinks: map[string]string{text: "https://x.example"}})
						return err
					},
					"a new product": func() error {
						_, err := o.CreateProduct(ctx, &adminv1.CreateProductRequest{Store: "s", Title: text, PriceAmount: new(int64(5)),
							Type: storefrontv1.Product_FILE})
						return err
					},
					"a product": func() error {
						_, err := o.UpdateProduct(in, &storefrontv1.UpdateProductRequest{Id: product.GetId(), Title: &text})
						return err
					},
					"a new customer": func() error {
						_, err := o.CreateCustomer(in, &storefrontv1.CreateCustomerRequest{Name: text, Email: new("n@example.com")})
						return err
					},
					"a customer": func() error {
						_, err := o.UpdateCustomer(in, &storefrontv1.UpdateCustomerRequest{Id: customer.GetId(), Name: &text})
						return err
					},
					"a buyer": func() error {
						_, err := o.CreateOrder(ctx, &adminv1.CreateOrderRequest{Store: "s", Name: text, Email: new("n@example.com"),
							Items: []*adminv1.CreateOrderRequest_Item{{ProductId: product.GetId(), Quantity: 1}}})
						return err
					},
					"a new link": func() error {
						_, err := o.CreatePaymentLink(in, &storefrontv1.CreatePaymentLinkRequest{Title: text,
							Pricing: storefrontv1.PaymentLink_FIXED, Amount: new(int64(5))})
						return err
					},
					"a link": func() error {
						_, err := o.UpdatePaymentLink(in, &storefrontv1.UpdatePaymentLinkRequest{Id: link.GetId(), Title: &text})
						return err
					},
					"a key": func() error {
						_, err := o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "s", Name: text, Scopes: []string{"products:read"},
							Lifetime: adminv1.Key_NEVER})
						return err
					},
					"a member": func() error { _, err := admin.MemberName("member", text); return err },
				} {
					require.True(t, apierr.Is(call(), apierr.ValidationFailed), "%s is called %q", door, text)
				}
				for field, change := range map[string]func(*storefrontv1.Order){
					"reference":      func(o *storefrontv1.Order) { o.Reference = text },
					"customer.name":  func(o *storefrontv1.Order) { o.Customer.Name = text },
					"items[0].title": func(o *storefrontv1.Order) { o.Items[0].Title = text },
				} {
					out, err := importOrder(o, change)
					require.NoError(t, err)
					require.Equal(t, field, out.GetRefused()[0].GetField())
				}
			}

			// An export of an older release may have such texts: they are imported as one line.
			if end != "\u0085" && !strings.Contains(end, "\r") {
				order := oneOrder()
				order.Reference = "R" + end + fmt.Sprint([]rune(end)[0])
				order.Customer.Name, order.Items[0].Title = "A"+end+"B", end+"A"+end+"B"+end
				out, err := o.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: "empty", Kind: "orders", Lines: string(apijson.Marshal(order))})
				require.NoError(t, err)
				require.Empty(t, out.GetRefused())
				stored, err := o.GetOrder(shoptest.In(t, ctx, o, "empty"), &storefrontv1.GetOrderRequest{Id: order.GetId()})
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint("R ", []rune(end)[0]), stored.GetReference())
				require.Equal(t, "A B", stored.GetCustomer().GetName())
				require.Equal(t, "A B", stored.GetItems()[0].GetTitle())
			}
		}
		// Texts that an older release stored are shown without line ends.
		const stored = "\u2029Awa\r\nBcc: x@example.com\u2028!\n"
		for table, column := range map[string]string{"stores": "name", "products": "title", "customers": "name", "payment_links": "title",
			"order_items": "title", "api_keys": "name", "orders": "reference"} {
			_, err := d.Writer().ExecContext(ctx, "UPDATE "+table+" SET "+column+" = $1", stored)
			if table == "orders" {
				_, err = d.Writer().ExecContext(ctx, "UPDATE orders SET reference = $1 || CAST(id AS text)", stored)
			}
			require.NoError(t, err, table)
		}
		shown := strings.Join(listsOf(t, o, "s"), "\n")
		keys, err := o.ListKeys(ctx, &adminv1.ListKeysRequest{Store: "s"})
		require.NoError(t, err)
		st, err := o.GetStore(in, &storefrontv1.GetStoreRequest{})
		require.NoError(t, err)
		shown += string(apijson.Marshal(keys)) + string(apijson.Marshal(st))
		require.Contains(t, shown, `"Awa Bcc: x@example.com !"`)
		require.NotRegexp(t, `Awa(\\|[\x{2028}\x{2029}])`, shown)
	})
}
