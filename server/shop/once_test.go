package shop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func TestTheSameKeyGivesTheSameAnswer(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := shoptest.NewClock()
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: clock.Now}), shop.Options{})
			p := b.Product("Guide", 1000)
			key := func(k string) context.Context { return tenant.WithIdempotencyKey(b.Ctx, k) }
			draft := func(quantity int32) shop.OrderDraft {
				return shop.OrderDraft{
					Buyer: shop.Buyer{Email: ptr("a@example.com")}, Lines: []shop.OrderLine{{ProductID: p.GetId(), Quantity: quantity}},
				}
			}
			first, err := b.RecordOrder(key("checkout-1"), draft(1))
			require.NoError(t, err)
			paid, err := b.MoveOrder(key("checkout-1"), first.GetId(), "PAID")
			require.NoError(t, err, "a key belongs to one operation")
			require.Equal(t, storefrontv1.Order_PAID, paid.GetStatus())
			_, err = b.MoveOrder(b.Ctx, first.GetId(), "REFUNDED")
			require.NoError(t, err)
			entries, events := len(b.Journal()), len(b.Events())

			clock.Advance(shop.IdempotencyWindow - time.Millisecond)
			again, err := b.RecordOrder(key("checkout-1"), draft(1))
			require.NoError(t, err)
			require.Equal(t, string(apijson.Marshal(first)), string(apijson.Marshal(again)),
				"byte for byte, though the order has changed since")
			again, err = b.MoveOrder(key("checkout-1"), strings.ToUpper(first.GetId()), "PAID")
			require.NoError(t, err, "although a REFUNDED order cannot be paid")
			require.Equal(t, string(apijson.Marshal(paid)), string(apijson.Marshal(again)))
			require.Len(t, b.Journal(), entries, "nothing is changed")
			require.Len(t, b.Events(), events, "nothing is sent")

			_, err = b.RecordOrder(key("checkout-1"), draft(2))
			shoptest.Refused(t, err, apierr.IdempotencyKeyReused)
			other := b.Buy("b@example.com", p.GetId(), "")
			_, err = b.MoveOrder(key("checkout-1"), other.GetId(), "PAID")
			shoptest.Refused(t, err, apierr.IdempotencyKeyReused)

			// A key applies to one store. A second store has not used this key, so the draft gets no stored answer; it is
			// refused, because its product is not in that store.
			elsewhere := b.NewStore("elsewhere")
			_, err = b.RecordOrder(tenant.WithIdempotencyKey(elsewhere, "checkout-1"), draft(1))
			shoptest.Refused(t, err, apierr.ProductNotFound)

			clock.Advance(time.Millisecond)
			anew, err := b.RecordOrder(key("checkout-1"), draft(2))
			require.NoError(t, err, "after a day the key is forgotten")
			require.NotEqual(t, first.GetId(), anew.GetId())
		})
	}
}

func TestWhatWasRefusedIsNotRemembered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		p := b.Product("Guide", 1000)
		o := b.Buy("a@example.com", p.GetId(), "")
		key := tenant.WithIdempotencyKey(b.Ctx, "k")
		_, err := b.MoveOrder(key, o.GetId(), "REFUNDED")
		shoptest.Refused(t, err, apierr.OrderTransition)
		_, err = b.MoveOrder(b.Ctx, o.GetId(), "PAID")
		require.NoError(t, err)
		o, err = b.MoveOrder(key, o.GetId(), "REFUNDED")
		require.NoError(t, err)
		require.Equal(t, storefrontv1.Order_REFUNDED, o.GetStatus())

		for name, bad := range map[string]string{
			"too long":            strings.Repeat("é", shop.MaxIdempotencyKeyRunes+1),
			"a control character": "a\nb",
			"no Unicode":          "\xff",
		} {
			_, err := b.MoveOrder(tenant.WithIdempotencyKey(b.Ctx, bad), o.GetId(), "PAID")
			r := shoptest.Refused(t, err, apierr.ValidationFailed)
			require.Equal(t, "idempotencyKey", r.Details.GetFields()[0].GetField(), name)
		}
		long := tenant.WithIdempotencyKey(b.Ctx, strings.Repeat("é", shop.MaxIdempotencyKeyRunes))
		_, err = b.MoveOrder(long, o.GetId(), "REFUNDED")
		require.NoError(t, err)
	})
}

// Of many concurrent requests with one key, one makes the change, and all get its answer.
func TestManyAtOnceUnderOneKey(t *testing.T) {
	t.Parallel()
	const askers = 50
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		l := b.Link(ptr(int32(1)))
		ask := func(do func(ctx context.Context) (*storefrontv1.Order, error)) *storefrontv1.Order {
			t.Helper()
			answers := make([]*storefrontv1.Order, askers)
			var all errgroup.Group
			for i := range askers {
				all.Go(func() (err error) {
					answers[i], err = do(tenant.WithIdempotencyKey(b.Ctx, "once"))
					return err
				})
			}
			require.NoError(t, all.Wait())
			for _, answer := range answers {
				require.Equal(t, string(apijson.Marshal(answers[0])), string(apijson.Marshal(answer)))
			}
			return answers[0]
		}
		o := ask(func(ctx context.Context) (*storefrontv1.Order, error) {
			return b.RecordOrder(ctx, shop.OrderDraft{Buyer: shop.Buyer{Email: ptr("a@example.com")}, PaymentLinkID: l.GetId()})
		})
		ask(func(ctx context.Context) (*storefrontv1.Order, error) { return b.MoveOrder(ctx, o.GetId(), "PAID") })
		orders, err := d.Client().Order.Query().Count(b.Ctx)
		require.NoError(t, err)
		require.Equal(t, 1, orders)
		require.Equal(t, []string{"customer.created", "order.paid", "payment_link.paid"}, b.Events())
		require.Equal(t, 2, dbtest.Count(t, d, "idempotency_keys WHERE operation <> 'secret'"))
		require.Equal(t, 1, dbtest.Count(t, d, "idempotency_keys WHERE operation = 'secret'"))
	})
}
