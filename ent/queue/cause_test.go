package queue_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
)

func TestADeliveryTellsWhatCausedItsEvent(t *testing.T) {
	t.Parallel()
	forEach(t, 0, func(t *testing.T, d *db.DB, _ *handClock) {
		o := newOutlet(t, d, "atelier")
		const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		request := uuid.New()
		caused, uncaused := o.emit(hook.OrderPaid), o.emit(hook.OrderPaid)
		o.exec("UPDATE events SET request_id = $1, trace = $2 WHERE id = $3", request, parent, caused)
		check := func(deliveries []queue.Delivery) {
			require.Equal(t, []uuid.UUID{caused, uncaused}, []uuid.UUID{deliveries[0].EventID, deliveries[1].EventID})
			require.Equal(t, request, deliveries[0].RequestID)
			require.Equal(t, parent, deliveries[0].Trace)
			require.Zero(t, deliveries[1].RequestID)
			require.Empty(t, deliveries[1].Trace)
		}
		q := queue.New(d)
		claimed := o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 2})
		check(claimed)
		require.NoError(t, q.Release(o.ctx, claimed))
		o.exec("UPDATE deliveries SET retry = (event_id <> $1)", caused) // so that the two deliveries are in different lanes
		got := o.claim(q, queue.ClaimRequest{Lane: o.lane(o.webhook, false), Max: 1},
			queue.ClaimRequest{Lane: o.lane(o.webhook, true), Max: 1})
		require.Len(t, got, 2)
		if got[0].EventID != caused {
			got[0], got[1] = got[1], got[0]
		}
		check(got)
	})
}
