package shop_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer/transfertest"
	"go.storefront.example/server/validate"
)

// A total has an upper limit, because JavaScript cannot read a number above 2^53-1 exactly and the database cannot store one
// above 2^63-1.
func TestAPaymentThatTakesATotalTooFarIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		most := b.Product("Yacht", validate.MaxAmount/2) // b.Buy orders two yachts, so that the order's total is MaxAmount-1
		one := b.Product("Pen", 1)
		open, err := b.CreatePaymentLink(b.Ctx, &storefrontv1.CreatePaymentLinkRequest{
			Title: "Gift", Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(1)),
		})
		require.NoError(t, err)
		through := func(email string, amount int64) string {
			o, err := b.RecordOrder(b.Ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: &email}, PaymentLinkID: open.GetId(), Amount: &amount})
			require.NoError(t, err)
			return o.GetId()
		}
		refusedPayment := func(id, want string) {
			t.Helper()
			before := len(b.Events())
			_, err := b.MoveOrder(b.Ctx, id, "PAID")
			require.Contains(t, shoptest.Refused(t, err, apierr.TotalLimit).Message, want)
			o, err := b.GetOrder(b.Ctx, &storefrontv1.GetOrderRequest{Id: id})
			require.NoError(t, err)
			require.Equal(t, storefrontv1.Order_PENDING, o.GetStatus(), "the order stays as it was")
			require.Len(t, b.Events(), before)
		}
		pay := func(id string) *storefrontv1.Order {
			t.Helper()
			o, err := b.MoveOrder(b.Ctx, id, "PAID")
			require.NoError(t, err)
			return o
		}

		first := pay(b.Buy("ada@example.com", most.GetId(), "").GetId())
		require.Equal(t, int64(validate.MaxAmount-1), first.GetAmount())
		refusedPayment(b.Buy("ada@example.com", one.GetId(), "").GetId(), "totalPaid")
		pay(through("ada@example.com", 1))
		refusedPayment(through("ada@example.com", 1), "totalPaid")
		pay(through("bea@example.com", validate.MaxAmount-1))
		refusedPayment(through("zoe@example.com", 1), "paidAmount")
		c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: first.GetCustomer().GetId()})
		require.NoError(t, err)
		require.Equal(t, int64(validate.MaxAmount), c.GetTotalPaid())
		l, err := b.GetPaymentLink(b.Ctx, &storefrontv1.GetPaymentLinkRequest{Id: open.GetId()})
		require.NoError(t, err)
		require.Equal(t, int64(validate.MaxAmount), l.GetPaidAmount())
		require.EqualValues(t, 2, l.GetPaidCount())

		// A refund lowers totalPaid, so another payment is accepted.
		_, err = b.MoveOrder(b.Ctx, first.GetId(), "REFUNDED")
		require.NoError(t, err)
		pay(b.Buy("ada@example.com", one.GetId(), "").GetId())

		// A customer's ordersCount also has a limit, as the customer's total has.
		full := transfertest.OneCustomer().With("ordersCount", math.MaxInt32)
		require.NoError(t, transfertest.Customers(b.Ctx, d, nil, full))
		_, err = b.RecordOrder(b.Ctx, shop.OrderDraft{CustomerID: full["id"].(string), Lines: []shop.OrderLine{{ProductID: one.GetId(),
			Quantity: 1}}})
		shoptest.Refused(t, err, apierr.TotalLimit)
	})
}

func TestAStoresRefusedFieldsHaveOneOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.New(t, dbtest.SQLite, db.Config{}), shop.Options{})
	for range 20 {
		_, err := b.UpdateStore(b.Ctx, &adminv1.UpdateStoreRequest{
			Name: new(""), Phone: new("1"), WhatsappPhone: new("2"), SocialLinks: map[string]string{"x": "-", "facebook": "-",
				"tiktok": "-", "instagram": "-"},
		})
		r := shoptest.Refused(t, err, apierr.ValidationFailed)
		var names []string
		for _, f := range r.Details.GetFields() {
			names = append(names, f.GetField())
		}
		require.Equal(t, []string{"name", "phone", "whatsappPhone", "socialLinks.facebook", "socialLinks.instagram",
			"socialLinks.tiktok", "socialLinks.x"}, names)
	}
}
