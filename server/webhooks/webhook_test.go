package webhooks_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/webhook"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker/egress"
)

// sealing returns options with a key for sealing secrets.
func sealing(t *testing.T) webhooks.Options {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return webhooks.Options{Secrets: seal.NewKeyring(key)}
}

// hook registers a webhook for all events.
func (b bench) hook() webhooks.SecretWebhook {
	b.T.Helper()
	w, err := b.CreateWebhook(b.Ctx, webhooks.Registration{URL: "https://receiver.example.com/hooks"})
	require.NoError(b.T, err)
	return w
}

func TestWebhookIsRegisteredAndItsSecretShownOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		o := sealing(t)
		b := newBench(t, d, o)
		made, err := b.CreateWebhook(b.Ctx, webhooks.Registration{
			URL: "https://receiver.example.com/hooks?x=1", Description: "  Compta ", Events: []string{"payment_link.paid", "order.paid",
				"order.paid"},
		})
		require.NoError(t, err)
		require.Regexp(t, `^whsec_[0-9A-Za-z_-]{43}$`, made.Secret)
		require.Equal(t, "https://receiver.example.com/hooks?x=1", made.URL)
		require.Equal(t, "Compta", made.Description)
		require.Equal(t, []string{"order.paid", "payment_link.paid"}, made.Events, "in the order of the specification, each once")
		require.True(t, made.Enabled)
		require.Equal(t, hook.EventTypes(), b.hook().Events, "all six without a choice")

		row := d.Client().Webhook.GetX(b.Ctx, made.ID)
		require.NotContains(t, string(row.Secret), "whsec_")
		opened, err := o.Secrets.Open(row.Secret, row.SecretKey, made.ID[:])
		require.NoError(t, err)
		require.Equal(t, made.Secret, opened)

		rotated, err := b.RotateSecret(b.Ctx, made.ID.String())
		require.NoError(t, err)
		require.Regexp(t, `^whsec_[0-9A-Za-z_-]{43}$`, rotated.Secret)
		require.NotEqual(t, made.Secret, rotated.Secret)
		row = d.Client().Webhook.GetX(b.Ctx, made.ID)
		opened, err = o.Secrets.Open(row.Secret, row.SecretKey, made.ID[:])
		require.NoError(t, err)
		require.Equal(t, rotated.Secret, opened, "nothing of the old one is left")
		for _, entry := range b.Journal() {
			require.NotContains(t, string(entry.Changes), "whsec_")
			require.NotContains(t, string(entry.Changes), "secret")
		}
		require.Equal(t, []string{"store.created", "webhook.created", "webhook.created", "webhook.secret_rotated"},
			shoptest.Actions(b.Journal()))
	})
}

func TestWebhookRegistrationRefusals(t *testing.T) {
	t.Parallel()
	const url = "https://receiver.example.com"
	rows := []struct {
		reason string
		draft  webhooks.Registration
		want   apierr.Code
	}{
		{"plain http", webhooks.Registration{URL: "http://receiver.example.com"}, apierr.WebhookURLInvalid},
		{"a password", webhooks.Registration{URL: "https://ada:canary@receiver.example.com"}, apierr.WebhookURLInvalid},
		{"no URL", webhooks.Registration{}, apierr.WebhookURLInvalid},
		{"nothing can subscribe to a ping", webhooks.Registration{URL: url, Events: []string{"ping"}}, apierr.ValidationFailed},
		{"an unknown type", webhooks.Registration{URL: url, Events: []string{"order.paid", "order.lost"}}, apierr.ValidationFailed},
		{"a description too long", webhooks.Registration{URL: url, Description: strings.Repeat("é", 501)}, apierr.ValidationFailed},
		{"a control character", webhooks.Registration{URL: url, Description: "a\x00b"}, apierr.ValidationFailed},
	}
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		open := sealing(t)
		b := newBench(t, d, open)
		for _, row := range rows {
			_, err := b.CreateWebhook(b.Ctx, row.draft)
			shoptest.Refused(t, err, row.want)
			require.NotContains(t, err.Error(), "canary", row.reason)
		}
		w := b.hook()
		_, err := b.UpdateWebhook(b.Ctx, &adminv1.UpdateWebhookRequest{Id: w.ID.String(), Url: new("https://[::1]/")})
		shoptest.Refused(t, err, apierr.WebhookURLInvalid)
		_, err = b.UpdateWebhook(b.Ctx, &adminv1.UpdateWebhookRequest{Id: w.ID.String(), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"events"}}})
		shoptest.Refused(t, err, apierr.ValidationFailed)
		require.Equal(t, 1, d.Client().Webhook.Query().CountX(b.Ctx))
		require.Equal(t, []string{"store.created", "webhook.created"}, shoptest.Actions(b.Journal()))

		without := webhooks.New(d, webhooks.Options{})
		_, err = without.CreateWebhook(b.Ctx, webhooks.Registration{URL: url})
		require.Contains(t, shoptest.Refused(t, err, apierr.SecretKeyMissing).Message, "storefront secret generate")
		_, err = without.RotateSecret(b.Ctx, w.ID.String())
		shoptest.Refused(t, err, apierr.SecretKeyMissing)
		open.Targets = egress.Policy{AllowPrivate: true}
		_, err = webhooks.New(d, open).CreateWebhook(b.Ctx, webhooks.Registration{URL: "https://127.0.0.1:8443/x"})
		require.NoError(t, err, "a platform for tests may allow it")
	})
}

func TestAStoreHasAtMostFiveWebhooks(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		// Run many rounds, because two of these transactions rarely count the webhooks at the same time.
		for round := range 20 {
			b.Ctx = b.NewStore("shop-" + strconv.Itoa(round))
			var group sync.WaitGroup
			results := make([]error, 8)
			start := make(chan struct{})
			for i := range results {
				group.Go(func() {
					<-start
					_, results[i] = b.CreateWebhook(b.Ctx, webhooks.Registration{URL: "https://receiver.example.com"})
				})
			}
			close(start)
			group.Wait()
			made := 0
			for _, err := range results {
				if err == nil {
					made++
					continue
				}
				shoptest.Refused(t, err, apierr.WebhookLimit)
			}
			require.Equal(t, 5, made)
		}
		owner, _, _ := tenant.From(b.Ctx)
		registered := d.Client().Webhook.Query().Where(webhook.StoreID(owner.ID)).AllX(b.Ctx)
		require.Len(t, registered, 5)
		_, err := b.DisableWebhook(b.Ctx, registered[0].ID.String())
		require.NoError(t, err)
		_, err = b.CreateWebhook(b.Ctx, webhooks.Registration{URL: "https://receiver.example.com"})
		shoptest.Refused(t, err, apierr.WebhookLimit) // a disabled webhook counts too
		_, err = b.DeleteWebhook(b.Ctx, registered[0].ID.String())
		require.NoError(t, err)
		b.hook()
		other := b
		other.Ctx = b.NewStore("other")
		other.hook() // another store has a limit of its own
	})
}

func TestWebhookChanges(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		w := b.hook()
		id := w.ID.String()
		before := len(b.Journal())
		for reason, same := range map[string]*adminv1.UpdateWebhookRequest{
			"nothing is named":       {},
			"what it is":             {Url: &w.URL, Description: new(""), Events: hook.EventTypes()},
			"what it is, otherwise":  {Description: new("  "), Events: append(hook.EventTypes()[3:], hook.EventTypes()[:4]...)},
			"the URL that it has":    {Url: &w.URL},
			"the events that it has": {Events: hook.EventTypes()},
		} {
			same.Id = id
			unchanged, err := b.UpdateWebhook(b.Ctx, same)
			require.NoError(t, err, reason)
			require.True(t, w.UpdatedAt.Equal(unchanged.UpdatedAt), reason)
		}
		require.Len(t, b.Journal(), before, "and no entry")
		changed, err := b.UpdateWebhook(b.Ctx, &adminv1.UpdateWebhookRequest{Id: id, Url: new("https://b.example.com"), Events: []string{"order.failed"}})
		require.NoError(t, err)
		require.Equal(t, "https://b.example.com", changed.URL)
		require.Equal(t, []string{"order.failed"}, changed.Events)
		entries := b.Journal()
		require.Equal(t, "webhook.updated", entries[len(entries)-1].Action)
		require.Contains(t, string(entries[len(entries)-1].Changes),
			`"url":{"from":"https://receiver.example.com/hooks","to":"https://b.example.com"}`)

		escaped, err := b.UpdateWebhook(b.Ctx, &adminv1.UpdateWebhookRequest{Id: id, Url: new("https://b.example.com/é?q=ü|^{}")})
		require.NoError(t, err)
		require.Equal(t, "https://b.example.com/%C3%A9?q=%C3%BC%7C%5E%7B%7D", escaped.URL)
		_, err = b.UpdateWebhook(b.Ctx, &adminv1.UpdateWebhookRequest{Id: id, Url: new("https://b.example.com")})
		require.NoError(t, err)

		// EnableWebhook forgets the failures of a webhook that was disabled.
		since := d.Now().Add(-time.Hour)
		require.NoError(t, hook.Run(b.Ctx, d, func(c *hook.Change) error {
			return c.Tx.Webhook.UpdateOneID(w.ID).SetFailingSince(since).Exec(c)
		}))
		again, err := b.EnableWebhook(b.Ctx, id)
		require.NoError(t, err)
		require.NotNil(t, again.FailingSince, "enabling an enabled one changes nothing")
		disabled, err := b.DisableWebhook(b.Ctx, id)
		require.NoError(t, err)
		require.False(t, disabled.Enabled)
		require.NotNil(t, disabled.DisabledAt)
		require.False(t, disabled.DisabledAutomatically)
		require.Nil(t, disabled.FailingSince)
		require.NoError(t, hook.Run(b.Ctx, d, func(c *hook.Change) error {
			if err := c.MarkLocked(c.Tx.Webhook.GetX(c, w.ID)); err != nil {
				return err
			}
			return c.Tx.Webhook.UpdateOneID(w.ID).SetDisabledAutomatically(true).SetFailingSince(since).Exec(c)
		}))
		enabled, err := b.EnableWebhook(b.Ctx, id)
		require.NoError(t, err)
		require.True(t, enabled.Enabled)
		require.Nil(t, enabled.DisabledAt)
		row := d.Client().Webhook.Query().Where(webhook.ID(w.ID)).OnlyX(b.Ctx)
		require.Nil(t, row.FailingSince)
		require.False(t, row.DisabledAutomatically)

		_, err = b.DeleteWebhook(b.Ctx, id)
		require.NoError(t, err)
		entries = b.Journal()
		require.Equal(t, "webhook.deleted", entries[len(entries)-1].Action)
		require.Contains(t, string(entries[len(entries)-1].Changes), `"url":{"from":"https://b.example.com","to":null}`)
		require.Zero(t, d.Client().Webhook.Query().CountX(b.Ctx))
	})
}

// Every method that takes the id of a webhook refuses the id of another store's webhook.
func TestWebhooksOfAnotherStoreAreNotThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		w := b.hook()
		ping, err := b.PingWebhook(b.Ctx, w.ID.String())
		require.NoError(t, err)
		other := b.NewStore("other")
		for _, id := range []string{w.ID.String(), uuid.NewString(), "x", "", strings.ReplaceAll(w.ID.String(), "-", "")} {
			for name, do := range map[string]func() error{
				"get": func() error { _, err := b.GetWebhook(other, id); return err },
				"update": func() error {
					_, err := b.UpdateWebhook(other, &adminv1.UpdateWebhookRequest{Id: id, Description: new("x")})
					return err
				},
				"enable":  func() error { _, err := b.EnableWebhook(other, id); return err },
				"disable": func() error { _, err := b.DisableWebhook(other, id); return err },
				"delete":  func() error { _, err := b.DeleteWebhook(other, id); return err },
				"rotate":  func() error { _, err := b.RotateSecret(other, id); return err },
				"ping":    func() error { _, err := b.PingWebhook(other, id); return err },
				"resend":  func() error { _, err := b.ResendSince(other, id, time.Time{}); return err },
			} {
				require.Equal(t, apierr.WebhookNotFound, shoptest.RefusalCode(do()), "%s %q", name, id)
			}
		}
		_, err = b.GetDelivery(other, ping.ID.String())
		shoptest.Refused(t, err, apierr.DeliveryNotFound)
		_, err = b.ResendDelivery(other, ping.ID.String())
		shoptest.Refused(t, err, apierr.DeliveryNotFound)
		for _, search := range []webhooks.Search{{Search: queue.Search{Limit: 50}}, {Webhook: w.ID.String(),
			Search: queue.Search{Limit: 50}}} {
			found, err := b.ListDeliveries(other, search)
			require.NoError(t, err)
			require.Empty(t, found.Entries)
		}
	})
}

// The change of the webhook and the cancellation of its waiting deliveries are one transaction: if the change fails, no
// delivery is cancelled.
func TestDisablingAndDeletingCancelWhatWaits(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBench(t, d, sealing(t))
		for reason, end := range map[string]func(context.Context, string) (*ent.Webhook, error){
			"disabled": b.DisableWebhook, "deleted": b.DeleteWebhook,
		} {
			w := b.hook()
			ping, err := b.PingWebhook(b.Ctx, w.ID.String())
			require.NoError(t, err)
			gone := errors.New("the transaction fails")
			require.ErrorIs(t, hook.Run(b.Ctx, d, func(c *hook.Change) error {
				return errors.Join(queue.Cancel(c, ping.StoreID, w.ID), gone)
			}), gone)
			shown, err := b.GetDelivery(b.Ctx, ping.ID.String())
			require.NoError(t, err)
			require.Equal(t, queue.Pending, shown.Status, reason)
			_, err = end(b.Ctx, w.ID.String())
			require.NoError(t, err)
			_, err = b.PingWebhook(b.Ctx, w.ID.String())
			require.Equal(t, map[string]apierr.Code{"disabled": apierr.WebhookDisabled, "deleted": apierr.WebhookNotFound}[reason],
				shoptest.RefusalCode(err))
			shown, err = b.GetDelivery(b.Ctx, ping.ID.String())
			require.NoError(t, err)
			require.Equal(t, queue.Cancelled, shown.Status, reason)
			require.NotEmpty(t, shown.Payload, reason)
			found, err := b.ListDeliveries(b.Ctx, webhooks.Search{Webhook: w.ID.String(), Search: queue.Search{Limit: 5}})
			require.NoError(t, err)
			require.Len(t, found.Entries, 1, "it stays in the journal")
		}
	})
}
