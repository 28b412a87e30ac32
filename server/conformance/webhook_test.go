package conformance_test

import (
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/webhooks"
)

func hooked(t *testing.T, database, url string) *bench {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return newService(t, database, settings{options: admin.Options{Webhooks: webhooks.Options{Secrets: seal.NewKeyring(key)}},
		url: url}).newBench(t, restProtocol{})
}

// The rules for webhooks that a member creates in the dashboard.
func TestWebhookRegistration(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := hooked(t, database, "")
			refused := func(url, because string) {
				b.leavesNothing(func() {
					_, err := b.CreateWebhook(b.ctx, webhooks.Registration{URL: url})
					require.ErrorContains(t, err, "webhook_url_invalid: The webhook's URL "+because, url)
				})
			}
			refused("http://receiver.example.com", "must start with https://")
			for _, url := range []string{"https://localhost/", "https://127.0.0.1/", "https://10.1.2.3/", "https://192.168.0.1/",
				"https://[::1]/"} {
				refused(url, "must")
			}
			refused("https://ada:secret@receiver.example.com/", "must not contain a user name or a password")

			w, err := b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/", Description: "Compta"})
			require.NoError(t, err)
			require.Equal(t, "Compta", w.Description)
			require.Equal(t, []string{
				"order.paid", "order.failed", "customer.created", "product.published", "product.archived", "payment_link.paid",
			}, w.Events)
			_, err = b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/", Events: []string{"ping"}})
			require.ErrorContains(t, err, "validation_failed", "ping cannot be subscribed to")

			// An event gets a delivery only while the webhook is enabled and subscribes to its type.
			_, err = b.RevokeKey(b.ctx, b.keyID)
			require.NoError(t, err)
			sends := func(want bool, change func() error) {
				require.NoError(t, change())
				before := b.queued()
				b.product("Guide", 1500, withStatus("PUBLISHED"))
				require.Equal(t, want, b.queued() > before)
			}
			id := w.ID.String()
			sends(true, func() error { return nil })
			sends(false, func() error {
				_, err := b.UpdateWebhook(b.ctx, &adminv1.UpdateWebhookRequest{Id: id, Events: []string{"order.paid"}})
				return err
			})
			sends(true, func() error {
				_, err := b.UpdateWebhook(b.ctx, &adminv1.UpdateWebhookRequest{Id: id, Events: []string{"product.published"}})
				return err
			})
			sends(false, func() error { _, err := b.DisableWebhook(b.ctx, id); return err })
			sends(true, func() error { _, err := b.EnableWebhook(b.ctx, id); return err })
			sends(false, func() error { _, err := b.DeleteWebhook(b.ctx, id); return err })

			for range 5 {
				_, err = b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/"})
				require.NoError(t, err)
			}
			_, err = b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/"})
			require.ErrorContains(t, err, "webhook_limit")

			key, _ := b.newKey("other", "never", "store:read")
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				b.refusedAs(b.withKey(key).json(method, "/v1/webhooks", ""), 404, "not_found")
			}
		})
	}
}

func (b *bench) queued() int {
	b.Helper()
	return dbtest.Queued(b, b.installation.db, b.store.ID)
}

// Only the answers of CreateWebhook and RotateSecret show it, not lists, journal entries, the log or the database.
func TestWebhookSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, database)
			b := hooked(t, database, url)
			made, err := b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/"})
			require.NoError(t, err)
			require.Regexp(t, `^whsec_`, made.Secret)
			again, err := b.RotateSecret(b.ctx, made.ID.String())
			require.NoError(t, err)
			require.Regexp(t, `^whsec_`, again.Secret)
			require.NotEqual(t, made.Secret, again.Secret)
			_, err = b.PingWebhook(b.ctx, made.ID.String())
			require.NoError(t, err)
			listed, err := admin.New(b.installation.db, admin.Options{}).ListWebhooks(b.ctx, &adminv1.ListWebhooksRequest{})
			require.NoError(t, err)
			require.Contains(t, listed.String(), "https://receiver.example.com/")
			require.NotContains(t, listed.String(), "whsec_")

			stored := b.dump(url)
			require.Contains(t, stored, "https://receiver.example.com/", "the dump holds what is stored")
			for _, secret := range []string{made.Secret, again.Secret} {
				bare := strings.TrimPrefix(secret, "whsec_")
				for _, trace := range []string{bare, hex.EncodeToString([]byte(bare))} {
					require.NotContains(t, stored, trace)
					require.NotContains(t, b.log.String(), trace)
				}
			}
		})
	}
}

// dump returns the whole database as text, PostgreSQL's bytes in hexadecimal.
func (b *bench) dump(url string) string {
	b.Helper()
	var all strings.Builder
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		files, err := filepath.Glob(path + "*")
		require.NoError(b, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(b, err)
			all.Write(text)
		}
		return all.String()
	}
	rows, err := b.installation.db.Reader().Query(`SELECT query_to_xml(format('SELECT t::text FROM %I t', c.relname), true, true, '')::text
 FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var table string
		require.NoError(b, rows.Scan(&table))
		all.WriteString(table)
	}
	require.NoError(b, rows.Err())
	return all.String()
}

// The ping goes to one webhook. No webhook can subscribe to pings.
func TestPing(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			b := hooked(t, database, "")
			w, err := b.CreateWebhook(b.ctx, webhooks.Registration{URL: "https://receiver.example.com/", Events: []string{"order.paid"}})
			require.NoError(t, err)
			ping, err := b.PingWebhook(b.ctx, w.ID.String())
			require.NoError(t, err)
			require.Equal(t, queue.Pending, ping.Status)
			require.Equal(t, w.ID, ping.WebhookID)
			events := b.events()
			require.Len(t, events, 1)
			require.Equal(t, "ping", events[0].kind)
			envelope := decodedObject(b, events[0].payload)
			b.moment(envelope["createdAt"])
			b.same(object{
				"id": ping.EventID.String(), "type": "ping", "createdAt": envelope["createdAt"],
				"store": object{"id": b.store.ID.String(), "slug": b.store.Slug},
				"data":  object{"message": "This is a test event.", "sentAt": envelope["createdAt"]},
			}, envelope)
			require.Equal(t, 1, b.queued(), "the ping alone")
		})
	}
}
