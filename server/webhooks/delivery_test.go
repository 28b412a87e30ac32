package webhooks_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent/event"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
)

// ended returns a cancelled delivery of a new ping to this webhook.
func (b bench) ended(w webhooks.SecretWebhook) queue.Entry {
	b.T.Helper()
	_, err := b.PingWebhook(b.Ctx, w.ID.String())
	require.NoError(b.T, err)
	_, err = b.DisableWebhook(b.Ctx, w.ID.String())
	require.NoError(b.T, err)
	_, err = b.EnableWebhook(b.Ctx, w.ID.String())
	require.NoError(b.T, err)
	found, err := b.ListDeliveries(b.Ctx, webhooks.Search{Webhook: w.ID.String(), Search: queue.Search{Limit: 1}})
	require.NoError(b.T, err)
	require.Len(b.T, found.Entries, 1)
	return found.Entries[0]
}

func TestResendOfADeliveryIsANewOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		first := b.ended(b.hook())
		again, err := b.ResendDelivery(b.Ctx, first.ID.String())
		require.NoError(t, err)
		require.NotEqual(t, first.ID, again.ID)
		require.Equal(t, first.EventID, again.EventID)
		require.Equal(t, first.EventType, again.EventType)
		require.Equal(t, queue.Pending, again.Status)
		require.Empty(t, again.Attempts)
		found, err := b.GetDelivery(b.Ctx, first.ID.String())
		require.NoError(t, err)
		two, err := b.GetDelivery(b.Ctx, again.ID.String())
		require.NoError(t, err)
		require.Equal(t, string(found.Payload), string(two.Payload), "the same bytes")
		require.Equal(t, queue.Cancelled, found.Status, "the first one stays what it was")
	})
}

// The journal says who has sent what again, and who has sent a test event.
func TestWhoeverSendsAgainIsInTheJournal(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		w := b.hook()
		waiting, err := b.PingWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		_, err = b.ResendDelivery(b.Ctx, waiting.ID.String())
		require.NoError(t, err)
		first := b.ended(w)
		_, err = b.EnableWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		_, err = b.ResendDelivery(b.Ctx, first.ID.String())
		require.NoError(t, err)
		_, err = b.ResendSince(b.Ctx, w.ID.String(), w.CreatedAt)
		require.NoError(t, err)
		_, err = b.CreatePing(b.Ctx)
		require.NoError(t, err)
		actions := shoptest.Actions(b.Journal())
		for action, times := range map[string]int{"webhook.pinged": 2, "delivery.resent": 2, "webhook.resent": 1, "store.pinged": 1} {
			require.Equal(t, times, strings.Count(strings.Join(actions, " "), action), "%s in %v", action, actions)
		}
	})
}

func TestResendOfADeliveryThatIsDueChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		ping, err := b.PingWebhook(b.Ctx, b.hook().ID.String())
		require.NoError(t, err)
		again, err := b.ResendDelivery(b.Ctx, ping.ID.String())
		require.NoError(t, err)
		require.Equal(t, ping, again)
		require.Equal(t, 1, dbtest.Count(t, d, "deliveries"))
	})
}

func TestAllThatWaitsForAnotherAttemptIsSentNow(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		w := b.hook()
		ping, err := b.PingWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		_, err = d.Writer().ExecContext(b.Ctx, "UPDATE deliveries SET retry = true, due_at = $1", d.Now().Add(time.Hour))
		require.NoError(t, err)
		for _, want := range []int{1, 0} {
			sent, err := b.SendWaiting(b.Ctx, w.ID.String())
			require.NoError(t, err)
			require.Equal(t, want, sent)
		}
		now, err := b.GetDelivery(b.Ctx, ping.ID.String())
		require.NoError(t, err)
		require.False(t, now.NextAttemptAt.After(d.Now()))
		_, err = b.SendWaiting(b.NewStore("other"), w.ID.String())
		shoptest.Refused(t, err, apierr.WebhookNotFound)
		_, err = b.DisableWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		_, err = b.SendWaiting(b.Ctx, w.ID.String())
		shoptest.Refused(t, err, apierr.WebhookDisabled)
	})
}

func TestResendOfADeliveryRefusals(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		want   apierr.Code
		// prepare returns the id of the delivery to send again.
		prepare func(b bench) string
	}{
		{"its event is on its way again already", apierr.DeliveryPending, func(b bench) string {
			first := b.ended(b.hook())
			_, err := b.ResendDelivery(b.Ctx, first.ID.String())
			require.NoError(b.T, err)
			return first.ID.String()
		}},
		{"its webhook is disabled", apierr.WebhookDisabled, func(b bench) string {
			w := b.hook()
			first := b.ended(w)
			_, err := b.DisableWebhook(b.Ctx, w.ID.String())
			require.NoError(b.T, err)
			return first.ID.String()
		}},
		{"its webhook was deleted", apierr.WebhookNotFound, func(b bench) string {
			w := b.hook()
			first := b.ended(w)
			_, err := b.DeleteWebhook(b.Ctx, w.ID.String())
			require.NoError(b.T, err)
			return first.ID.String()
		}},
		{"its event is kept no longer", apierr.EventExpired, func(b bench) string {
			first := b.ended(b.hook())
			require.NoError(b.T, hook.Run(b.Ctx, b.DB, func(c *hook.Change) error {
				_, err := c.Tx.Event.Delete().Where(event.ID(first.EventID)).Exec(c)
				return err
			}))
			shown, err := b.GetDelivery(b.Ctx, first.ID.String())
			require.NoError(b.T, err)
			require.Nil(b.T, shown.Payload)
			return first.ID.String()
		}},
		{"there is none", apierr.DeliveryNotFound, func(bench) string { return uuid.NewString() }},
		{"the id is none", apierr.DeliveryNotFound, func(bench) string { return "x" }},
	}
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		for i, row := range rows {
			one := b
			one.Ctx = b.NewStore("shop-" + string(rune('a'+i)))
			id := row.prepare(one)
			before := dbtest.Count(t, d, "deliveries")
			_, err := one.ResendDelivery(one.Ctx, id)
			require.Equal(t, row.want, shoptest.RefusalCode(err), "%s: %v", row.reason, err)
			require.Equal(t, before, dbtest.Count(t, d, "deliveries"), row.reason)
		}
	})
}

func TestADeliveryIsResentOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		first := b.ended(b.hook())
		var group sync.WaitGroup
		results := make([]error, 8)
		for i := range results {
			group.Go(func() { _, results[i] = b.ResendDelivery(b.Ctx, first.ID.String()) })
		}
		group.Wait()
		made := 0
		for _, err := range results {
			if err == nil {
				made++
				continue
			}
			shoptest.Refused(t, err, apierr.DeliveryPending)
		}
		require.Equal(t, 1, made)
		pending, err := b.ListDeliveries(b.Ctx, webhooks.Search{Search: queue.Search{Status: queue.Pending, Limit: 5}})
		require.NoError(t, err)
		require.Len(t, pending.Entries, 1)
	})
}

func TestResendSinceTakesWhatCameWhileAWebhookWasDisabled(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		w := b.hook()
		_, err := b.ResendSince(b.Ctx, uuid.NewString(), time.Time{})
		shoptest.Refused(t, err, apierr.WebhookNotFound)
		_, err = b.DisableWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		since := d.Now()
		rules := shop.New(d, shop.Options{})
		p, err := rules.CreateProduct(b.Ctx, &adminv1.CreateProductRequest{
			Title: "Guide", PriceAmount: new(int64(5)), Description: new("<p>text</p>"), ContentReady: new(true),
			Type: storefrontv1.Product_FILE,
		})
		require.NoError(t, err)
		for _, status := range []storefrontv1.Product_Status{storefrontv1.Product_PUBLISHED, storefrontv1.Product_ARCHIVED} {
			_, err := rules.UpdateProduct(b.Ctx, &storefrontv1.UpdateProductRequest{Id: p.Id, Status: status.Enum()})
			require.NoError(t, err)
		}
		require.Zero(t, dbtest.Count(t, d, "deliveries"), "the webhook is disabled")
		_, err = b.ResendSince(b.Ctx, w.ID.String(), since)
		shoptest.Refused(t, err, apierr.WebhookDisabled)
		_, err = b.EnableWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		for last := d.Now(); !d.Now().After(last); { //nolint:revive // It waits for the next millisecond.
		}
		late := b.hook() // both events are older than this webhook
		for _, made := range []webhooks.SecretWebhook{w, late} {
			n, err := b.CountUndelivered(b.Ctx, made.ID.String(), since)
			require.NoError(t, err)
			require.Equal(t, queue.Undelivered{Events: 2, Older: map[bool]int{true: 2}[made.ID == late.ID]}, n)
		}
		job, err := b.ResendSince(b.Ctx, w.ID.String(), since)
		require.NoError(t, err)
		for !job.Finished {
			job, err = b.ContinueResend(b.Ctx, job.ID)
			require.NoError(t, err)
		}
		require.Equal(t, 2, job.Resent)
		require.Equal(t, 2, dbtest.Count(t, d, "deliveries WHERE webhook_id = $1", w.ID))

		// ResendSince rounds the time up to a millisecond. So a job from one nanosecond after the first event does not send
		// the first event again.
		first := d.Client().Event.Query().Order(event.ByCreatedAt(), event.ByID()).FirstX(b.Ctx)
		job, err = b.ResendSince(b.Ctx, w.ID.String(), first.CreatedAt.Add(time.Nanosecond))
		require.NoError(t, err)
		require.Equal(t, first.CreatedAt.Add(time.Millisecond).UTC(), job.Since)
	})
}

func TestDeliveriesAreListedByWhatIsKnown(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	b := newBench(t, d, sealing(t))
	_, err := b.ListDeliveries(b.Ctx, webhooks.Search{Search: queue.Search{Status: "lost", Limit: 5}})
	shoptest.Refused(t, err, apierr.ValidationFailed)
	_, err = b.ListDeliveries(b.Ctx, webhooks.Search{Webhook: "x", Search: queue.Search{Limit: 5}})
	shoptest.Refused(t, err, apierr.WebhookNotFound)
	_, err = b.ListDeliveries(b.Ctx, webhooks.Search{Search: queue.Search{EventType: "order.lost"}})
	shoptest.Refused(t, err, apierr.ValidationFailed)
	ended := b.ended(b.hook())
	for _, row := range []struct {
		search webhooks.Search
		want   int
	}{
		{webhooks.Search{Search: queue.Search{EventType: hook.Ping}}, 1},
		{webhooks.Search{Search: queue.Search{EventType: "order.paid"}}, 0},
		{webhooks.Search{Search: queue.Search{Before: ended.ID}}, 0},
		{webhooks.Search{Search: queue.Search{Before: uuid.Max}}, 1},
	} {
		row.search.Limit = 5
		found, err := b.ListDeliveries(b.Ctx, row.search)
		require.NoError(t, err)
		require.Len(t, found.Entries, row.want, "%+v", row.search)
	}
	for status, want := range map[string]int{"": 1, queue.Cancelled: 1, queue.Pending: 0} {
		found, err := b.ListDeliveries(b.Ctx, webhooks.Search{Search: queue.Search{Status: status, Limit: 5}})
		require.NoError(t, err)
		require.Len(t, found.Entries, want, status)
	}
	require.Equal(t, queue.Cancelled, ended.Status)
}
