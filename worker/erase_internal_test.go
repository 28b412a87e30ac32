package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// newCustomer creates a customer, which sends customer.created.
func (m merchant) newCustomer(email string) uuid.UUID {
	m.t.Helper()
	made := uuid.New()
	m.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Customer.Create().SetID(made).SetStoreID(m.id).SetEmail(email).SetSearch(email).SetCreatedAt(now).SetUpdatedAt(now).
			Exec(c)
	})
	return made
}

func (m merchant) beginForgetting(customer uuid.UUID) {
	m.t.Helper()
	_, err := erase.BeginForgetting(m.ctx, m.DB, m.id, customer)
	require.NoError(m.t, err)
}

// A running attempt ends before the erasure is finished, and waiting deliveries are never sent. A worker continues another
// process's erasure.
func TestADeliveryOfAForgottenCustomerIsMadeBeforeOrNever(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		m.newWebhook(hook.CustomerCreated)
		w := in.worker()
		underWay := m.newCustomer("awa@example.com")
		in.receiver.always(500)
		open := in.receiver.hold()
		require.Equal(t, 1, w.begin(), "attempts that were due and are begun")
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

		// Its event waits for its first attempt, and may not be sent any more.
		waits := m.newCustomer("issa@example.com")
		m.beginForgetting(waits)
		require.NoError(t, w.erase(t.Context()))
		in.clock.advance(24 * time.Hour)
		w.pass()
		require.Len(t, in.receiver.got(), 1, "requests at the receiver")
		require.Zero(t, dbtest.Count(t, in.DB, "deliveries"))
	})
}

// The event names a customer who is already forgotten.
func TestADeliveryOfOneForgottenTwiceIsNeverMade(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		m.newWebhook(hook.CustomerCreated)
		w := in.worker()
		customer := m.newCustomer("awa@example.com")
		m.beginForgetting(customer)
		require.NoError(t, w.erase(t.Context()))
		// The event has the customer's real name beside the e-mail with which a forgotten customer is marked.
		m.change(func(c *hook.Change) error {
			now := c.Time()
			event := id.At(now)
			shown := &storefrontv1.Customer{Id: customer.String(), Name: "Awa " + resource.ForgottenEmail(customer)}
			if err := c.Tx.Event.Create().SetID(event).SetStoreID(m.id).SetType(hook.CustomerCreated).SetCreatedAt(now).
				SetPayload(hook.Envelope(event, hook.CustomerCreated, now, m.id, "atelier", shown)).Exec(c); err != nil {
				return err
			}
			_, err := fanout.Write(c, in.DB, c.Tx, now, m.id, []fanout.Event{{ID: event, Type: hook.CustomerCreated}})
			return err
		})
		m.beginForgetting(customer)
		require.NoError(t, w.erase(t.Context()))
		in.clock.advance(24 * time.Hour)
		w.pass()
		require.Empty(t, in.receiver.got())
		require.Zero(t, dbtest.Count(t, in.DB, "events WHERE payload <> $1", []byte(hook.Forgotten)))
	})
}

// Failed erasures are tried again after growing pauses, and others continue meanwhile.
func TestForgettingsThatFailMakeRoom(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		m := in.newMerchant("atelier")
		w := in.worker()
		failures := func(n int) int { return dbtest.Count(t, in.DB, "forgettings WHERE failures = $1", n) }
		for i := range 12 {
			m.beginForgetting(m.newCustomer(fmt.Sprintf("%d@example.com", i)))
		}
		in.exec("UPDATE forgettings SET progress = $1", []byte("what no step can read"))
		last := m.newCustomer("awa@example.com")
		m.beginForgetting(last)
		require.NoError(t, w.erase(t.Context()))
		require.NoError(t, w.erase(t.Context()))
		require.Equal(t, 12, failures(1))
		require.Equal(t, 1, dbtest.Count(t, in.DB, "forgettings WHERE finished_at IS NOT NULL AND id = $1", last))

		for n, pause := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			in.clock.advance(pause - time.Second)
			require.NoError(t, w.erase(t.Context()))
			require.Equal(t, 12, failures(n+1), "not yet")
			in.clock.advance(time.Second)
			require.NoError(t, w.erase(t.Context()))
			require.NoError(t, w.erase(t.Context()))
			require.Equal(t, 12, failures(n+2))
		}
		in.exec("UPDATE forgettings SET failures = 40, due_at = $1 WHERE finished_at IS NULL", in.clock.now())
		require.NoError(t, w.erase(t.Context()))
		require.NoError(t, w.erase(t.Context()))
		require.Equal(t, 12, dbtest.Count(t, in.DB, "forgettings WHERE failures = 41 AND due_at = $1", in.clock.now().Add(time.Hour)))
	})
}

// Only stores whose grace period is over, and activity entries older than ActivityRetention.
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
			require.ErrorIs(t, err, queue.ErrHeld) // the first sweep on SQLite deletes nothing
		}
		require.Equal(t, entries, dbtest.Count(t, in.DB, "activity_entries"))
		for range 4 { // Sweeps on the days before must have shown that the clock is right.
			in.clock.advance(23 * time.Hour)
			_, _ = w.queue.Sweep(t.Context(), DefaultRetention)
		}
		require.Zero(t, dbtest.Count(t, in.DB, "activity_entries"))
	})
}
