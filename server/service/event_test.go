package service_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

func TestEventsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			clock := newHandClock()
			b := newBench(t, dbtest.New(t, database, db.Config{Clock: clock.now}), service.Options{})
			p := b.product("Guide", 1000)
			for _, email := range []string{"a@example.com", "b@example.com"} {
				clock.advance(time.Millisecond)
				o := b.buy(email, p.GetId(), "")
				clock.advance(time.Millisecond)
				_, err := b.PayOrder(b.ctx, o.GetId())
				require.NoError(t, err)
			}
			all, err := b.ListEvents(b.ctx, service.EventSearch{Limit: 10})
			require.NoError(t, err)
			var types []string
			for _, e := range all {
				types = append(types, e.Type)
			}
			require.Equal(t, []string{"order.paid", "customer.created", "order.paid", "customer.created"}, types)
			page, err := b.ListEvents(b.ctx, service.EventSearch{Before: all[1].ID.String(), Limit: 1})
			require.NoError(t, err)
			require.Equal(t, all[2].ID, page[0].ID)
			require.Len(t, page, 1)
			paid, err := b.ListEvents(b.ctx, service.EventSearch{Type: "order.paid", Limit: 10})
			require.NoError(t, err)
			require.Len(t, paid, 2)
			one, err := b.GetEvent(b.ctx, all[0].ID.String())
			require.NoError(t, err)
			require.Equal(t, string(all[0].Payload), string(one.Payload))
			require.Contains(t, string(one.Payload), `"type":"order.paid"`)

			elsewhere := b.newStore("elsewhere")
			none, err := b.ListEvents(elsewhere, service.EventSearch{Limit: 10})
			require.NoError(t, err)
			require.Empty(t, none)
			for _, id := range []string{all[0].ID.String(), uuid.NewString(), "x", ""} {
				_, err = b.GetEvent(elsewhere, id)
				refused(t, err, apierr.EventNotFound)
			}
			_, err = b.ListEvents(elsewhere, service.EventSearch{Before: all[0].ID.String(), Limit: 1})
			refused(t, err, apierr.ValidationFailed)
			_, err = b.ListEvents(b.ctx, service.EventSearch{Type: "order.lost", Limit: 1})
			refused(t, err, apierr.ValidationFailed)
		})
	}
}
