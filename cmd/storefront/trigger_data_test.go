package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/operator"
)

func TestTriggerMakesEveryTypeOfEventAndNothingForAnother(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, o := t.Context(), operator.New(s, operator.Options{})
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "Demo", Slug: "demo", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		for _, kind := range hook.EventTypes() {
			event, err := newDemoData(kind).make(ctx, o, "demo")
			require.NoError(t, err, kind)
			require.Equal(t, kind, event.GetType())
		}
		events := s.Client().Event.Query().CountX(ctx)
		orders := s.Client().Order.Query().CountX(ctx)
		_, err = newDemoData("order.refunded").make(ctx, o, "demo")
		require.ErrorContains(t, err, "order.refunded")
		require.Equal(t, orders, s.Client().Order.Query().CountX(ctx))
		require.Equal(t, events, s.Client().Event.Query().CountX(ctx))
	})
}
