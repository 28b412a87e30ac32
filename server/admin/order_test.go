package admin_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

func TestTheTransactionFindsTheOrderThatItMoves(t *testing.T) {
	t.Parallel()
	newDeletion(t, func(t *testing.T, d deletion) {
		id := d.stores[0].order
		made, err := d.GetOrder(t.Context(), &adminv1.GetOrderRequest{Id: id})
		require.NoError(t, err)

		var mu sync.Mutex
		var queries []string
		note := func(query string) {
			mu.Lock()
			defer mu.Unlock()
			queries = append(queries, query)
		}
		d.observe.Store(&note)
		paid, err := d.PayOrder(t.Context(), &adminv1.PayOrderRequest{Store: "one", Name: made.Reference, IdempotencyKey: "k"})
		d.observe.Store(nil)
		require.NoError(t, err)
		require.Equal(t, id, paid.Id)
		require.Equal(t, storefrontv1.Order_PAID, paid.Status)
		began := slices.Index(queries, "BEGIN")
		before := slices.DeleteFunc(slices.Clone(queries[:max(began, 0)]), func(query string) bool { return query == "prepare" })
		require.Len(t, before, 1, "the store's look-up stands before the transaction: %q", queries)

		again, err := d.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: id, IdempotencyKey: "k"})
		require.NoError(t, err, "by its id the request is the same")
		require.Equal(t, paid.PaidAt.AsTime(), again.PaidAt.AsTime())

		refunded, err := d.RefundOrder(t.Context(), &adminv1.RefundOrderRequest{Store: "one", Name: id[len(id)-12:]})
		require.NoError(t, err, "a part of the id")
		require.Equal(t, id, refunded.Id)
		for name, in := range map[string]*adminv1.FailOrderRequest{
			"another store's reference": {Store: "two", Name: made.Reference},
			"no order's reference":      {Store: "one", Name: "ORD-NONE"},
			"a short part of the id":    {Store: "one", Name: id[:7]},
			"neither name nor id":       {Store: "one"},
		} {
			_, err := d.FailOrder(t.Context(), in)
			require.True(t, apierr.Is(err, apierr.OrderNotFound), "%s: %v", name, err)
		}
		_, err = d.PayOrder(t.Context(), &adminv1.PayOrderRequest{Store: "none", Name: made.Reference})
		require.True(t, apierr.Is(err, apierr.StoreNotFound), "%v", err)
	})
}
