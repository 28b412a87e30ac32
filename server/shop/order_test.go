package shop_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent/order"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
)

func TestListOrdersBetweenTwoMoments(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	rows := []struct {
		reason   string
		from, to time.Duration // the limits of the list, relative to the order's createdAt
		want     int64
	}{
		{"from is inclusive", 0, time.Hour, 1},
		{"from between two milliseconds is after the first", time.Microsecond, time.Hour, 0},
		{"from a millisecond earlier", -time.Millisecond, time.Hour, 1},
		{"to is exclusive", -time.Hour, 0, 0},
		{"to between two milliseconds is after the first", -time.Hour, time.Nanosecond, 1},
		{"from after to is empty", time.Hour, -time.Hour, 0},
	}
	dbtest.RunWith(t, db.Config{Clock: func() time.Time { return at }}, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		b.Buy("a@example.com", b.Product("Guide", 1000).GetId(), "")
		for _, row := range rows {
			page, err := b.ListOrders(b.Ctx, &storefrontv1.ListOrdersRequest{
				From: timestamppb.New(at.Add(row.from)), To: timestamppb.New(at.Add(row.to)),
			})
			require.NoError(t, err)
			require.Equal(t, row.want, page.GetTotal(), row.reason)
			require.Len(t, page.GetData(), int(row.want), row.reason)
		}
	})
}

// The rows that a change locks are the rows that ent reads, in every field.
func TestALockedOrderHasItsWholeRows(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, shop.Options{})
		bought, linked := b.Buy("a@example.com", b.Product("Guide", 1000).GetId(), ""), b.Buy("a@example.com", "", b.Link(nil).GetId())
		_, err := b.MoveOrder(b.Ctx, bought.GetId(), order.StatusPAID)
		require.NoError(t, err)
		store, err := tenant.StoreOf(b.Ctx)
		require.NoError(t, err)
		for _, id := range []string{bought.GetId(), linked.GetId()} {
			locked, err := resource.LockOrder(t.Context(), d.Reader(), store, uuid.MustParse(id), "")
			require.NoError(t, err)
			row := d.Client().Order.GetX(t.Context(), uuid.MustParse(id))
			require.Equal(t, row.String(), locked.Row.String())
			require.Equal(t, d.Client().Customer.GetX(t.Context(), row.CustomerID).String(), locked.Buyer.String())
		}
	})
}
