package shop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/shop"
)

// The database's clock leaps by more than a day, and one of two servers has not read it since. A key that both get within
// seconds makes one order, and no sweep removes the key.
func TestAKeyMakesOneOrderAfterALeapOfTheClock(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 25 * time.Hour, "back": -25 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, leap := dbtest.LeapingURL(t)
			late := newBench(t, dbtest.Leaping(t, address), shop.Options{})
			p := late.Product("Guide", 1000)
			leap(by)
			d := dbtest.Leaping(t, address)
			current := shop.New(d, shop.Options{})
			require.InDelta(t, by.Seconds(), d.Now().Sub(late.DB.Now()).Seconds(), 60)

			draft := shop.OrderDraft{Buyer: shop.Buyer{Email: new("a@example.com")},
				Lines: []shop.OrderLine{{ProductID: p.GetId(), Quantity: 1}}}
			record := func(s *shop.Shop, key string) string {
				t.Helper()
				o, err := s.RecordOrder(tenant.WithIdempotencyKey(late.Ctx, key), draft)
				require.NoError(t, err)
				return o.GetId()
			}
			require.Equal(t, record(late.Shop, "one"), record(current, "one"))
			require.Equal(t, record(current, "two"), record(late.Shop, "two"))
			first := record(late.Shop, "three")
			_, err := queue.New(d).Sweep(t.Context(), 30*24*time.Hour)
			require.NoError(t, err)
			require.Equal(t, first, record(current, "three"))
			require.Equal(t, 3, dbtest.Count(t, d, "orders"))
		})
	}
}
