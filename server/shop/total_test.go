package shop_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/store"
	"go.storefront.example/ent/store/storetest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
)

// A total past 2^53-1 is no number to a caller in JavaScript, and past 2^63 none to the database.
func TestAPaymentThatTakesATotalTooFarIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s, shop.Options{})
		most := b.product("Yacht", shop.MaxAmount/2) // two of them are an order of MaxAmount-1
		one := b.product("Pen", 1)
		open, err := b.CreatePaymentLink(b.ctx, &storefrontv1.CreatePaymentLinkRequest{
			Title: "Gift", Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(1)),
		})
		require.NoError(t, err)
		through := func(email string, amount int64) string {
			o, err := b.RecordOrder(b.ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: &email}, PaymentLinkID: open.GetId(), Amount: &amount})
			require.NoError(t, err)
			return o.GetId()
		}
		refusedPayment := func(id, want string) {
			t.Helper()
			before := len(b.events())
			_, err := b.PayOrder(b.ctx, id)
			require.Contains(t, refused(t, err, refusal.TotalLimit).Message, want)
			o, err := b.GetOrder(b.ctx, &storefrontv1.GetOrderRequest{Id: id})
			require.NoError(t, err)
			require.Equal(t, storefrontv1.Order_PENDING, o.GetStatus(), "the order stays as it was")
			require.Len(t, b.events(), before)
		}
		pay := func(id string) *storefrontv1.Order {
			t.Helper()
			o, err := b.PayOrder(b.ctx, id)
			require.NoError(t, err)
			return o
		}

		first := pay(b.buy("ada@example.com", most.GetId(), "").GetId())
		require.Equal(t, int64(shop.MaxAmount-1), first.GetAmount())
		refusedPayment(b.buy("ada@example.com", one.GetId(), "").GetId(), "totalPaid")
		pay(through("ada@example.com", 1))
		refusedPayment(through("ada@example.com", 1), "totalPaid")
		pay(through("bea@example.com", shop.MaxAmount-1))
		refusedPayment(through("zoe@example.com", 1), "paidAmount")
		c, err := b.GetCustomer(b.ctx, &storefrontv1.GetCustomerRequest{Id: first.GetCustomer().GetId()})
		require.NoError(t, err)
		require.Equal(t, int64(shop.MaxAmount), c.GetTotalPaid())
		l, err := b.GetPaymentLink(b.ctx, &storefrontv1.GetPaymentLinkRequest{Id: open.GetId()})
		require.NoError(t, err)
		require.Equal(t, int64(shop.MaxAmount), l.GetPaidAmount())
		require.EqualValues(t, 2, l.GetPaidCount())

		// A refund makes room.
		_, err = b.RefundOrder(b.ctx, first.GetId())
		require.NoError(t, err)
		pay(b.buy("ada@example.com", one.GetId(), "").GetId())

		// As many orders as can be counted.
		full := oneCustomer().with("ordersCount", math.MaxInt32)
		b.load(shop.ImportCustomers, full)
		_, err = b.RecordOrder(b.ctx, shop.OrderDraft{CustomerID: full["id"].(string), Lines: []shop.OrderLine{{ProductID: one.GetId(), Quantity: 1}}})
		refused(t, err, refusal.TotalLimit)
	})
}

func TestALoadThatTakesATotalTooFarIsRefusedByItsLine(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s, shop.Options{})
		link := fields{"id": b.link(nil).GetId(), "code": "", "title": ""}
		ada, bea := oneCustomer(), oneCustomer()
		order := func(buyer fields, amount int64) fields { return oneOrder(buyer).with("amount", amount) }
		refusedLine := func(line int, want string, objects ...fields) {
			t.Helper()
			_, err := b.Import(b.ctx, lines(objects...), shop.Import{Kind: shop.ImportOrders})
			var bad *shop.LineError
			require.True(t, errors.As(err, &bad), "%v", err)
			require.Equal(t, line, bad.Line)
			require.True(t, strings.HasPrefix(bad.Problem, "amount: takes the "+want), bad.Problem)
		}
		b.load(shop.ImportOrders, order(ada, shop.MaxAmount-1))
		refusedLine(2, "customer's totalPaid", order(ada, 1), order(ada, 1), order(bea, 1))
		refusedLine(3, "customer's totalPaid", order(bea, shop.MaxAmount), order(bea, shop.MaxAmount).with("status", "REFUNDED"), order(bea, shop.MaxAmount))
		b.load(shop.ImportOrders, order(bea, shop.MaxAmount).with("status", "REFUNDED").with("paymentLink", link))
		refusedLine(2, "payment link's paidAmount", order(bea, 1), order(bea, 1).with("status", "REFUNDED").with("paymentLink", link))
		o, err := b.ListOrders(b.ctx, &storefrontv1.ListOrdersRequest{})
		require.NoError(t, err)
		require.EqualValues(t, 2, o.GetTotal(), "nothing of a refused batch is stored")
	})
}

func TestAStoresRefusedFieldsHaveOneOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, storetest.New(t, storetest.SQLite, store.Config{}), shop.Options{})
	for range 20 {
		_, err := b.UpdateStore(b.ctx, shop.StoreChange{
			Name: new(""), Phone: new("1"), WhatsappPhone: new("2"), SocialLinks: map[string]string{"x": "-", "facebook": "-", "tiktok": "-", "instagram": "-"},
		})
		r := refused(t, err, refusal.ValidationFailed)
		var names []string
		for _, f := range r.Details.GetFields() {
			names = append(names, f.GetField())
		}
		require.Equal(t, []string{"name", "phone", "whatsappPhone", "socialLinks.facebook", "socialLinks.instagram", "socialLinks.tiktok", "socialLinks.x"}, names)
	}
}
