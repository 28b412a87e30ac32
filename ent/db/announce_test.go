package db_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

const hang = time.Minute

func requireSignal(t *testing.T, signal <-chan struct{}, message string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(hang):
		t.Fatal(message)
	}
}

func TestWhatIsAnnouncedIsHeard(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		signal := d.Listen(ctx)
		// The listener connects in the background, and announcements before that are lost.
		deadline := time.After(hang)
		for connected := false; !connected; {
			d.Announce()
			select {
			case <-signal:
				connected = true
			case <-deadline:
				t.Fatal("nothing is signal")
			case <-time.After(time.Millisecond):
			}
		}
		cancel()
	})
}

// A worker wakes not only at its next poll.
func TestACommitOfAnotherProcessOnSQLiteIsNoticed(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	listening, writing := open(t, url), open(t, url)
	owner := tenant.Store{ID: uuid.New(), Slug: "atelier", Currency: "XAF"}
	ctx := tenant.With(t.Context(), owner, tenant.Actor{Type: tenant.ActorOperator, Name: "operator"})
	signal := listening.Listen(t.Context())
	require.NoError(t, hook.Run(ctx, writing, func(c *hook.Change) error {
		now := c.Time()
		if err := c.Tx.Store.Create().SetID(owner.ID).SetName("Atelier").SetSlug(owner.Slug).SetURL("https://a.example").
			SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c); err != nil {
			return err
		}
		return c.Tx.Webhook.Create().SetStoreID(owner.ID).SetURL("https://a.example/hook").SetEvents([]string{hook.CustomerCreated}).
			SetSecret([]byte{1}).SetSecretKey("k").SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	}))
	for i := range 3 { // each commit gives a signal, even if earlier deliveries still wait
		require.NoError(t, hook.Run(ctx, writing, func(c *hook.Change) error {
			now := c.Time()
			return c.Tx.Customer.Create().SetStoreID(owner.ID).SetEmail(fmt.Sprintf("awa%d@example.com", i)).SetSearch("awa").SetCreatedAt(
				now).SetUpdatedAt(now).Exec(c)
		}))
		requireSignal(t, signal, "the commit is not noticed")
	}
}

func TestTheLastAnnouncementOfAStoreThatClosesIsHeard(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.Postgres)
	listening, writing := open(t, url), open(t, url)
	signal := listening.Listen(t.Context())
	require.Eventually(t, func() bool {
		return dbtest.Count(t, listening, "pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle' AND datname = "+
			"current_database()") == 1
	}, hang, 10*time.Millisecond)
	writing.Announce()
	require.NoError(t, writing.Close())
	requireSignal(t, signal, "the last announcement is lost")
	writing.Announce()
}

// A standby refuses LISTEN.
func TestAListenerOnAStandbyIsHeardOnceItIsPromoted(t *testing.T) {
	t.Parallel()
	primary := dbtest.Cluster(t, cluster.Options{})
	standby := dbtest.Standby(t, primary)
	d := open(t, standby.URL())
	signal := d.Listen(t.Context())
	require.Eventually(t, func() bool {
		return dbtest.Count(t, d, "pg_stat_activity WHERE query LIKE 'LISTEN%'") == 1
	}, hang, 10*time.Millisecond, "it has not asked yet")
	require.NoError(t, primary.Crash(t.Context()))
	require.NoError(t, standby.Promote(t.Context()))
	require.Eventually(t, func() bool {
		d.Announce()
		select {
		case <-signal:
			return true
		default:
			return false
		}
	}, hang, 10*time.Millisecond)
}

func TestOnlyWhatIsQueuedIsAnnounced(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		signal := d.Listen(ctx)
		if d.Dialect() == "postgres" {
			require.Eventually(t, func() bool {
				return dbtest.Count(t, d, "pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle' AND datname = "+
					"current_database()") == 1
			}, hang, 10*time.Millisecond)
		}
		owner := tenant.Store{ID: uuid.New(), Slug: "atelier", Currency: "XAF"}
		ctx = tenant.With(ctx, owner, tenant.Actor{Type: tenant.ActorOperator, Name: "operator"})
		webhook := func(c *hook.Change, types ...string) *ent.WebhookCreate {
			now := c.Time()
			return c.Tx.Webhook.Create().SetStoreID(owner.ID).SetURL("https://a.example/hook").SetEvents(types).
				SetSecret([]byte{1}).SetSecretKey("k").SetCreatedAt(now).SetUpdatedAt(now)
		}
		customer := func(email string) {
			require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
				now := c.Time()
				return c.Tx.Customer.Create().SetStoreID(owner.ID).SetEmail(email).SetSearch(email).
					SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
			}))
		}
		require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
			now := c.Time()
			if err := c.Tx.Store.Create().SetID(owner.ID).SetName("Atelier").SetSlug(owner.Slug).SetURL("https://a.example").
				SetCurrency("XAF").SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c); err != nil {
				return err
			}
			if err := webhook(c, hook.CustomerCreated).SetEnabled(false).Exec(c); err != nil {
				return err
			}
			return webhook(c, hook.OrderPaid, hook.ProductPublished).Exec(c)
		}))
		customer("a@example.com")
		require.Equal(t, 1, dbtest.Count(t, d, "events"), "the event is kept")
		require.Zero(t, dbtest.Queued(t, d, owner.ID), "though nobody subscribes to it")

		require.NoError(t, hook.Run(ctx, d, func(c *hook.Change) error {
			return webhook(c, hook.OrderPaid, hook.CustomerCreated).Exec(c)
		}))
		customer("b@example.com")
		require.Equal(t, 1, dbtest.Queued(t, d, owner.ID))
		requireSignal(t, signal, "what is queued is not announced")
	})
}
