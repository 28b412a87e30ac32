package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

func TestTriggerMakesEveryTypeOfEventAndNothingForAnother(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, o := t.Context(), admin.New(s, admin.Options{})
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "Demo", Slug: "demo", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		for _, kind := range hook.EventTypes() {
			event, err := newTriggerData(kind).make(ctx, o, "demo")
			require.NoError(t, err, kind)
			require.Equal(t, kind, event.GetType())
		}
		events := s.Client().Event.Query().CountX(ctx)
		orders := s.Client().Order.Query().CountX(ctx)
		_, err = newTriggerData("order.refunded").make(ctx, o, "demo")
		require.ErrorContains(t, err, "order.refunded")
		require.Equal(t, orders, s.Client().Order.Query().CountX(ctx))
		require.Equal(t, events, s.Client().Event.Query().CountX(ctx))
	})
}

func TestTriggerWithAnotherNameOfTheBuyerShowsItWheneverItIsGiven(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		ctx, o := t.Context(), admin.New(s, admin.Options{})
		_, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "Demo", Slug: "demo", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		paid := func(overrides ...string) string {
			d := newTriggerData(hook.OrderPaid)
			for _, text := range overrides {
				require.NoError(t, d.override(text))
			}
			event, err := d.make(ctx, o, "demo")
			require.NoError(t, err)
			return event.GetPayload()
		}
		require.Contains(t, paid(), `"name":"Test Buyer","email":"buyer@example.com"`)
		require.Contains(t, paid("customer.name=Awa"), `"name":"Awa"`)
		require.Contains(t, paid("customer.name=Bea"), `"name":"Bea"`)
		require.Contains(t, paid("customer.phone=+237670000009"), `"phone":"+237670000009"`)
		require.Contains(t, paid("customer.email=c@example.com", "customer.name=Cam"), `"name":"Cam","email":"c@example.com"`)
		require.Contains(t, paid("customer.name=Dia", "customer.email=d@example.com"), `"name":"Dia","email":"d@example.com"`)
		require.Contains(t, paid(), `"name":"Test Buyer","email":"buyer@example.com"`)
	})
}
