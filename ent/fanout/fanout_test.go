package fanout_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// shop is a store in the database of a test.
type shop struct {
	*db.DB
	t   *testing.T
	ctx context.Context
	id  uuid.UUID
}

func newShop(t *testing.T, d *db.DB) shop {
	t.Helper()
	s := shop{DB: d, t: t, id: uuid.New()}
	slug := "s" + s.id.String()
	s.ctx = tenant.With(t.Context(), tenant.Store{ID: s.id, Slug: slug, Currency: "XAF"}, tenant.Actor{Type: tenant.ActorOperator})
	s.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Store.Create().SetID(s.id).SetName("Atelier").SetSlug(slug).SetURL("https://shop.example").SetCurrency("XAF").
			SetCountry("CM").SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	})
	return s
}

func (s shop) change(fn func(c *hook.Change) error) {
	s.t.Helper()
	require.NoError(s.t, hook.Run(s.ctx, s.DB, fn))
}

// register registers a webhook for new customers.
func (s shop) register(webhook uuid.UUID) {
	s.t.Helper()
	s.change(func(c *hook.Change) error {
		now := c.Time()
		return c.Tx.Webhook.Create().SetID(webhook).SetStoreID(s.id).SetURL("https://receiver.example").
			SetEvents([]string{hook.OrderPaid, hook.CustomerCreated}).SetSecret([]byte("sealed")).SetSecretKey("key").
			SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
	})
}

// The changes of a webhook, as package webhooks makes them.
func (s shop) disable(webhook uuid.UUID) {
	s.change(func(c *hook.Change) error {
		if _, err := c.Tx.ExecContext(c, "UPDATE webhooks SET enabled = false WHERE id = $1", webhook); err != nil {
			return err
		}
		return queue.Cancel(c, s.id, webhook)
	})
}

func (s shop) enable(webhook uuid.UUID) {
	s.exec("UPDATE webhooks SET enabled = true WHERE id = $1", webhook)
}

func (s shop) disableAndEnable(webhook uuid.UUID) {
	s.disable(webhook)
	s.enable(webhook)
}

func (s shop) unsubscribe(webhook uuid.UUID) {
	s.exec(`UPDATE webhooks SET events = '["order.paid"]' WHERE id = $1`, webhook)
}

func (s shop) unsubscribeAndDisable(webhook uuid.UUID) {
	s.unsubscribe(webhook)
	s.disable(webhook)
}

func (s shop) rotate(webhook uuid.UUID) {
	s.exec("UPDATE webhooks SET secret = $2, url = 'https://other.example' WHERE id = $1", webhook, []byte("other"))
}

func (s shop) remove(webhook uuid.UUID) { s.exec("DELETE FROM webhooks WHERE id = $1", webhook) }

func (s shop) exec(statement string, args ...any) {
	s.t.Helper()
	_, err := s.Writer().ExecContext(s.ctx, statement, args...)
	require.NoError(s.t, err)
}

// customer creates a customer. between, if not nil, runs after the transaction has written the deliveries of the event, and
// before it commits.
func (s shop) customer(between func()) {
	s.t.Helper()
	require.NoError(s.t, hook.Run(s.ctx, s.ForStore(s.ctx), func(c *hook.Change) error {
		now := c.Time()
		email := uuid.NewString() + "@example.com"
		err := c.Tx.Customer.Create().SetStoreID(s.id).SetEmail(email).SetSearch(email).SetCreatedAt(now).SetUpdatedAt(now).Exec(c)
		if err == nil && between != nil {
			c.Tx.OnCommit(func(next ent.Committer) ent.Committer {
				return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
					between()
					return next.Commit(ctx, tx)
				})
			})
		}
		return err
	}))
}

// What became of the only event: nobody was to get it, a worker gets its delivery now, or the delivery is cancelled.
const (
	nothing   = "nothing"
	claimed   = "claimed"
	cancelled = "cancelled"
)

// outcome lets a worker look for deliveries to the webhook.
func (s shop) outcome(webhook uuid.UUID) string {
	s.t.Helper()
	q := queue.New(s.DB)
	_, err := q.Relay(s.ctx)
	require.NoError(s.t, err)
	require.NoError(s.t, q.DropRelayed(s.ctx))
	waiting := dbtest.Count(s.t, s.DB, "deliveries WHERE webhook_id = $1", webhook)
	require.LessOrEqual(s.t, waiting, 1)
	got, err := q.Claim(s.ctx, []queue.ClaimRequest{{Lane: queue.Lane{StoreID: s.id, WebhookID: webhook}, Max: 5}}, time.Minute)
	require.NoError(s.t, err)
	switch {
	case waiting == 0:
		return nothing
	case len(got) == 0:
		cancelledHere, err := q.FindCancelled(s.ctx)
		require.NoError(s.t, err)
		require.Len(s.t, cancelledHere, 1)
		_, _, err = q.MoveCancelled(s.ctx, cancelledHere[0])
		require.NoError(s.t, err)
		require.Equal(s.t, 1, dbtest.Count(s.t, s.DB, "finished_deliveries WHERE webhook_id = $1 AND status = 'cancelled'", webhook))
		return cancelled
	}
	require.Equal(s.t, hook.CustomerCreated, got[0].EventType)
	require.Contains(s.t, string(got[0].Payload), `"type":"customer.created"`)
	require.Equal(s.t, id.Derive(got[0].EventID, webhook), got[0].ID)
	if strings.Contains(got[0].URL, "other") {
		require.Equal(s.t, "other", string(got[0].Secret))
	}
	return claimed
}

// The webhooks that are enabled and subscribe when an event happens get it, however long no worker runs, and nobody else. A
// change of a webhook comes before the event if it has committed when the event's transaction reads the webhooks, and after
// the event otherwise, also if it commits first.
func TestAnEventGoesToThoseWhoAreThereWhenItHappens(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name                   string
		change                 func(s shop, webhook uuid.UUID)
		before, between, after string // what becomes of the event if the change comes before it, between its read and its commit, or after it
	}{
		{"registered", shop.register, claimed, nothing, nothing},
		{"unsubscribed", shop.unsubscribe, nothing, claimed, claimed},
		{"disabled", shop.disable, nothing, cancelled, cancelled},
		{"disabled and enabled again", shop.disableAndEnable, claimed, cancelled, cancelled},
		{"unsubscribed and disabled", shop.unsubscribeAndDisable, nothing, cancelled, cancelled},
		{"rotated and moved", shop.rotate, claimed, claimed, claimed},
		{"deleted", shop.remove, nothing, cancelled, cancelled},
	}
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		for _, row := range rows {
			start := func() (shop, uuid.UUID) {
				s, webhook := newShop(t, d), uuid.New()
				if row.name != "registered" {
					s.register(webhook)
				}
				return s, webhook
			}
			s, webhook := start()
			row.change(s, webhook)
			s.customer(nil)
			require.Equal(t, row.before, s.outcome(webhook), "%s before the event", row.name)

			s, webhook = start()
			s.customer(nil)
			row.change(s, webhook)
			require.Equal(t, row.after, s.outcome(webhook), "%s after the event", row.name)

			if d.Dialect() == "sqlite3" {
				continue // one transaction at a time writes
			}
			s, webhook = start()
			s.customer(func() { row.change(s, webhook) })
			require.Equal(t, row.between, s.outcome(webhook), "%s between the event's read and its commit", row.name)
		}
	})
}

// What happens while a webhook is disabled does not reach it, even if no worker runs until it is enabled again.
func TestAWebhookGetsNothingOfTheTimeInWhichItWasDisabled(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s, webhook := newShop(t, d), uuid.New()
		s.register(webhook)
		s.disable(webhook)
		s.customer(nil)
		s.enable(webhook)
		require.Equal(t, nothing, s.outcome(webhook))
		s.customer(nil)
		require.Equal(t, claimed, s.outcome(webhook))
	})
}
