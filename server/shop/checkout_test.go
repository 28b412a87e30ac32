package shop_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/validate"
)

// RecordOrder makes its answer before it stores the order. The answer must equal the order that GetOrder reads afterwards.
func TestARecordedOrderIsAnsweredAsItIsRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		guide, course := b.Product(`Guide "à" l'œil \\ {1,2}`, 1000), b.Product("NULL", 0)
		var many []shop.OrderLine
		for i := range 60 {
			many = append(many, shop.OrderLine{ProductID: []string{guide.GetId(), course.GetId()}[i%2], Quantity: int32(i + 1)})
		}
		for i, row := range []struct {
			name  string
			draft shop.OrderDraft
		}{
			{"a new buyer", shop.OrderDraft{Buyer: shop.Buyer{Name: "Awa", Email: new("awa@example.com")}, Lines: many[:1],
				Note: new("Merci !\nÀ bientôt")}},
			{"one who is known, more items than SQLite stores at once", shop.OrderDraft{Buyer: shop.Buyer{Email: new("awa@example.com")},
				Lines: many}},
			{"one who is completed, through a link", shop.OrderDraft{
				Buyer: shop.Buyer{Email: new("awa@example.com"), Phone: new("+237650000001")}, PaymentLinkID: b.Link(nil).GetId(),
			}},
		} {
			o, err := b.RecordOrder(b.Ctx, row.draft)
			require.NoError(t, err, row.name)
			read, err := b.GetOrder(b.Ctx, &storefrontv1.GetOrderRequest{Id: o.GetId()})
			require.NoError(t, err, row.name)
			require.Equal(t, protojson.Format(read), protojson.Format(o), row.name)
			require.Len(t, o.GetItems(), len(row.draft.Lines), row.name)
			c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: o.GetCustomer().GetId()})
			require.NoError(t, err, row.name)
			require.EqualValues(t, i+1, c.GetOrdersCount(), row.name)
		}
		changes := map[string][]string{}
		for _, e := range d.Client().ActivityEntry.Query().Order(ent.Asc("id")).AllX(b.Ctx) {
			changes[e.Action] = append(changes[e.Action], string(e.Changes))
		}
		require.Equal(t, []string{`{"name":{"from":null,"to":"Awa"},"email":{"from":null,"to":"awa@example.com"}}`},
			changes["customer.created"])
		require.Len(t, changes["order.created"], 3)
		require.Regexp(t, `^{"reference":{"from":null,"to":"ORD-\w{10}"},"status":{"from":null,"to":"PENDING"},"amount":{"from":null,"to":1000},`+
			`"customerId":{"from":null,"to":"[-0-9a-f]{36}"},"note":{"from":null,"to":"Merci !\\nÀ bientôt"}}$`,
			changes["order.created"][0])
		require.Contains(t, changes["order.created"][2], `"paymentLinkId":{"from":null,"to":"`)
		require.Equal(t, []string{"customer.created"}, b.Events())
	})
}

func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	type move = func(bench, string) (*storefrontv1.Order, error)
	pay := func(b bench, id string) (*storefrontv1.Order, error) { return b.MoveOrder(b.Ctx, id, "PAID") }
	fail := func(b bench, id string) (*storefrontv1.Order, error) { return b.MoveOrder(b.Ctx, id, "FAILED") }
	cancel := func(b bench, id string) (*storefrontv1.Order, error) { return b.MoveOrder(b.Ctx, id, "CANCELLED") }
	refund := func(b bench, id string) (*storefrontv1.Order, error) { return b.MoveOrder(b.Ctx, id, "REFUNDED") }

	rows := []struct {
		name  string
		moves []move
		want  storefrontv1.Order_Status
		last  apierr.Code // refusal of the last move; empty if the move is allowed
		paid  int64       // totalPaid of the customer at the end
		sent  []string    // types of the events after customer.created
	}{
		{"a pending order is paid", []move{pay}, storefrontv1.Order_PAID, "", 2000, []string{"order.paid"}},
		{"paying again changes and sends nothing", []move{pay, pay}, storefrontv1.Order_PAID, "", 2000, []string{"order.paid"}},
		{"a pending order fails", []move{fail}, storefrontv1.Order_FAILED, "", 0, []string{"order.failed"}},
		{"failing again sends nothing", []move{fail, fail}, storefrontv1.Order_FAILED, "", 0, []string{"order.failed"}},
		{"a failed order is paid late", []move{fail, pay}, storefrontv1.Order_PAID, "", 2000, []string{"order.failed", "order.paid"}},
		{"a pending order is cancelled without an event", []move{cancel}, storefrontv1.Order_CANCELLED, "", 0, nil},
		{"a cancelled order cannot be paid", []move{cancel, pay}, storefrontv1.Order_CANCELLED, apierr.OrderTransition, 0, nil},
		{"a paid order is refunded and leaves the total", []move{pay, refund}, storefrontv1.Order_REFUNDED, "", 0,
			[]string{"order.paid"}},
		{"refunding again takes nothing more", []move{pay, refund, refund}, storefrontv1.Order_REFUNDED, "", 0, []string{"order.paid"}},
		{"a refunded order cannot be paid", []move{pay, refund, pay}, storefrontv1.Order_REFUNDED, apierr.OrderTransition, 0,
			[]string{"order.paid"}},
		{"a paid order cannot fail", []move{pay, fail}, storefrontv1.Order_PAID, apierr.OrderTransition, 2000, []string{"order.paid"}},
		{"a paid order cannot be cancelled", []move{pay, cancel}, storefrontv1.Order_PAID, apierr.OrderTransition, 2000,
			[]string{"order.paid"}},
		{"a pending order cannot be refunded", []move{refund}, storefrontv1.Order_PENDING, apierr.OrderTransition, 0, nil},
		{"a failed order cannot be cancelled", []move{fail, cancel}, storefrontv1.Order_FAILED, apierr.OrderTransition, 0,
			[]string{"order.failed"}},
	}
	// Every reading of the clock advances it. So no two events have the same time, and the list of events, which is sorted
	// by time, has one possible order.
	var now atomic.Int64
	now.Store(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	clock := func() time.Time { return time.UnixMilli(now.Add(10)).UTC() }
	dbtest.RunWith(t, db.Config{Clock: clock}, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		p := b.Product("Guide", 1000)
		for i, row := range rows {
			before := len(b.Events())
			o := b.Buy(fmt.Sprintf("buyer%d@example.com", i), p.GetId(), "")
			var err error
			for _, m := range row.moves {
				_, err = m(b, o.GetId())
			}
			if row.last == "" {
				require.NoError(t, err, row.name)
			} else {
				shoptest.Refused(t, err, row.last)
			}
			o, err = b.GetOrder(b.Ctx, &storefrontv1.GetOrderRequest{Id: o.GetId()})
			require.NoError(t, err)
			require.Equal(t, row.want, o.GetStatus(), row.name)
			require.Equal(t, row.want == storefrontv1.Order_PAID || row.want == storefrontv1.Order_REFUNDED, o.GetPaidAt() != nil,
				row.name)
			c, err := b.GetCustomer(b.Ctx, &storefrontv1.GetCustomerRequest{Id: o.GetCustomer().GetId()})
			require.NoError(t, err)
			require.Equal(t, row.paid, c.GetTotalPaid(), row.name)
			require.EqualValues(t, 1, c.GetOrdersCount(), row.name)
			require.Equal(t, append([]string{"customer.created"}, row.sent...), b.Events()[before:], row.name)
		}
	})
}

func TestRecordOrderRefusals(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		p := b.Product("Guide", validate.MaxAmount/2)
		l := b.Link(nil)
		buyer := shop.Buyer{Email: ptr("a@example.com")}
		one := []shop.OrderLine{{ProductID: p.GetId(), Quantity: 1}}
		rows := []struct {
			name string
			d    shop.OrderDraft
			want apierr.Code
		}{
			{"neither products nor a link", shop.OrderDraft{Buyer: buyer}, apierr.ValidationFailed},
			{"products and a link", shop.OrderDraft{Buyer: buyer, Lines: one, PaymentLinkID: l.GetId()}, apierr.ValidationFailed},
			{"an amount for products", shop.OrderDraft{Buyer: buyer, Lines: one, Amount: ptr(int64(5))}, apierr.ValidationFailed},
			{"a quantity of none", shop.OrderDraft{Buyer: buyer, Lines: []shop.OrderLine{{ProductID: p.GetId()}}},
				apierr.ValidationFailed},
			{"an amount beyond what a client reads exactly", shop.OrderDraft{Buyer: buyer, Lines: []shop.OrderLine{{ProductID: p.GetId(),
				Quantity: 3}}}, apierr.ValidationFailed},
			{"a buyer whom nothing identifies", shop.OrderDraft{Buyer: shop.Buyer{Name: "A"}, Lines: one},
				apierr.CustomerIdentifierRequired},
			{"a phone that is none", shop.OrderDraft{Buyer: shop.Buyer{Phone: ptr("12")}, Lines: one}, apierr.PhoneInvalid},
			{"an unknown customer", shop.OrderDraft{CustomerID: p.GetId(), Lines: one}, apierr.CustomerNotFound},
			{"an unknown product", shop.OrderDraft{Buyer: buyer, Lines: []shop.OrderLine{{ProductID: l.GetId(), Quantity: 1}}},
				apierr.ProductNotFound},
			{"an unknown link", shop.OrderDraft{Buyer: buyer, PaymentLinkID: p.GetId()}, apierr.PaymentLinkNotFound},
			{"another amount than a FIXED link's", shop.OrderDraft{Buyer: buyer, PaymentLinkID: l.GetId(), Amount: ptr(int64(499))},
				apierr.PaymentLinkAmount},
		}
		before := len(b.Journal())
		for _, row := range rows {
			_, err := b.RecordOrder(b.Ctx, row.d)
			t.Log(row.name)
			shoptest.Refused(t, err, row.want)
		}
		require.Len(t, b.Journal(), before, "a refused order leaves nothing, its new buyer included")
		require.Empty(t, b.Events())
	})
}

// The order has more lines than one INSERT can store.
func TestOrderOfManyLines(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		p := b.Product("Guide", 2)
		lines := slices.Repeat([]shop.OrderLine{{ProductID: p.GetId(), Quantity: 1}}, 8000)
		o, err := b.RecordOrder(b.Ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: ptr("a@example.com")}, Lines: lines})
		require.NoError(t, err)
		require.Len(t, o.GetItems(), len(lines))
		require.EqualValues(t, 2*len(lines), o.GetAmount())
	})
}
