package worker

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
)

// newCustomer makes a customer, whose creation is an event.
func (m merchant) newCustomer(email string) uuid.UUID {
	m.t.Helper()
	made := uuid.New()
	m.change(func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		return tx.Customer.Create().SetID(made).SetStoreID(m.id).SetEmail(email).SetSearch(email).SetCreatedAt(now).SetUpdatedAt(now).
			Exec(ctx)
	})
	return made
}

func (m merchant) beginForgetting(customer uuid.UUID) {
	m.t.Helper()
	_, err := erase.BeginForgetting(m.ctx, m.DB, m.id, customer)
	require.NoError(m.t, err)
}

// A delivery that is under way when its customer is forgotten is made before the forgetting is finished; one that waits is
// never made. A worker goes on with what another process has begun.
func TestADeliveryOfAForgottenCustomerIsMadeBeforeOrNever(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		m.newWebhook(hook.CustomerCreated)
		w := in.worker()
		underWay := m.newCustomer("awa@example.com")
		in.receiver.always(500)
		open := in.receiver.hold()
		require.Equal(t, 1, w.begin())
		m.beginForgetting(underWay)
		for range 5 {
			f, err := erase.Step(t.Context(), in.DB, m.id, underWay)
			require.NoError(t, err)
			require.Zero(t, f.Events, "an attempt is under way")
		}
		open()
		w.finish()
		require.Len(t, in.receiver.got(), 1, "it was sent before")
		require.NoError(t, w.erase(t.Context()))
		left, err := erase.Unfinished(t.Context(), in.DB)
		require.NoError(t, err)
		require.Empty(t, left)
		require.Equal(t, 1, w.pass(), "its next attempt is not made")
		ended := dbtest.FinishedDeliveries(t, in.DB, "true")
		require.Len(t, ended, 1)
		require.Equal(t, queue.Cancelled, ended[0].Status)

		// Not yet relayed, and not yet due.
		waits := m.newCustomer("issa@example.com")
		m.beginForgetting(waits)
		require.NoError(t, w.erase(t.Context()))
		in.clock.advance(24 * time.Hour)
		w.pass()
		require.Len(t, in.receiver.got(), 1)
		require.Zero(t, dbtest.Count(t, in.DB, "outbox"))
		require.Zero(t, dbtest.Count(t, in.DB, "deliveries"))
	})
}

// A worker deletes the stores whose grace is over, and no others, and the journal of activity as old as is said.
func TestTheWorkerDeletesStoresAndOldActivity(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		gone, stays := in.newMerchant("gone"), in.newMerchant("stays")
		gone.newCustomer("awa@example.com")
		stays.newCustomer("awa@example.com")
		in.exec("UPDATE stores SET delete_at = $1 WHERE id = $2", in.clock.now().Add(time.Hour), gone.id)
		w := in.worker(func(c *Config) { c.ActivityRetention = 48 * time.Hour })
		require.NoError(t, w.erase(t.Context()))
		require.Equal(t, 2, dbtest.Count(t, in.DB, "stores"))
		in.clock.advance(2 * time.Hour)
		require.NoError(t, w.erase(t.Context()))
		require.Equal(t, 1, dbtest.Count(t, in.DB, "stores"))
		require.Zero(t, dbtest.Count(t, in.DB, "customers WHERE store_id = $1", gone.id))
		require.Equal(t, 1, dbtest.Count(t, in.DB, "customers WHERE store_id = $1", stays.id))

		entries := dbtest.Count(t, in.DB, "activity_entries")
		require.NotZero(t, entries)
		_, err := w.queue.Sweep(t.Context(), DefaultRetention)
		if err != nil {
			require.ErrorIs(t, err, queue.ErrHeld) // the first sweep on SQLite
		}
		require.Equal(t, entries, dbtest.Count(t, in.DB, "activity_entries"))
		for range 4 { // sweeps of each day show that SQLite's clock is right
			in.clock.advance(23 * time.Hour)
			_, _ = w.queue.Sweep(t.Context(), DefaultRetention)
		}
		require.Zero(t, dbtest.Count(t, in.DB, "activity_entries"))
	})
}
