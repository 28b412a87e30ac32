package notice_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/seal"
	"go.storefront.example/gen/ent/event"
)

// bench is a database with a store, and a clock that the test sets.
type bench struct {
	*db.DB
	t     *testing.T
	clock *atomic.Int64
	store uuid.UUID
	// secrets seals the secrets of webhooks.
	secrets *seal.Keyring
}

var noon = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

// run runs test as a subtest on each kind of database.
func run(t *testing.T, test func(b bench)) {
	t.Helper()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := seal.ParseKey(seal.NewKey())
			require.NoError(t, err)
			b := bench{t: t, clock: &atomic.Int64{}, store: uuid.New(), secrets: seal.NewKeyring(key)}
			b.clock.Store(noon.UnixMilli())
			b.DB = dbtest.New(t, name, db.Config{Clock: func() time.Time { return time.UnixMilli(b.clock.Load()).UTC() }})
			b.do(func(c *hook.Change) error {
				return b.exec(c, `INSERT INTO stores (id, name, slug, url, currency, country, support_email, status, social_links,
 unavailable_types, created_at, updated_at) VALUES ($1, 'Boutique & Co', 'boutique', 'https://shop.example', 'XAF', 'CM',
 'help@shop.example', 'open', '{}', '[]', $2, $2)`, b.store, noon)
			})
			test(b)
		})
	}
}

func (b bench) exec(c *hook.Change, query string, args ...any) error {
	_, err := c.Tx.ExecContext(c, query, args...)
	return err
}

func (b bench) do(fn func(c *hook.Change) error) {
	b.t.Helper()
	require.NoError(b.t, hook.Run(b.t.Context(), b.DB, fn))
}

func (b bench) set(query string, args ...any) {
	b.t.Helper()
	b.do(func(c *hook.Change) error { return b.exec(c, query, args...) })
}

func (b bench) register() {
	b.t.Helper()
	require.NoError(b.t, notice.SetWebhook(b.t.Context(), b.DB, b.secrets, "https://mailer.example", "whsec_x"))
}

// sent is a notice with the members that the tests compare.
type sent struct {
	Type  string
	Store struct{ ID, Slug string }
	Data  map[string]any
}

// notices returns the notices written so far, oldest first.
func (b bench) notices() (all []sent) {
	b.t.Helper()
	rows, err := b.Client().Event.Query().Where(event.StoreID(notice.NoStore)).Order(event.ByID()).All(b.t.Context())
	require.NoError(b.t, err)
	for _, row := range rows {
		var n sent
		require.NoError(b.t, json.Unmarshal(row.Payload, &n))
		require.Equal(b.t, row.Type, n.Type)
		all = append(all, n)
	}
	require.Equal(b.t, len(all), dbtest.Queued(b.t, b.DB, notice.NoStore), "each has one delivery")
	return all
}

func (b bench) types() (types []string) {
	for _, n := range b.notices() {
		types = append(types, n.Type)
	}
	return types
}

func (b bench) write(n notice.Notice) {
	b.t.Helper()
	b.do(func(c *hook.Change) error { return notice.Write(c, b.DB, c.Tx, c.Time(), n) })
}

func (b bench) sweep(after time.Duration) {
	b.t.Helper()
	b.clock.Add(after.Milliseconds())
	require.NoError(b.t, notice.Sweep(b.t.Context(), b.DB))
}

// failing creates a webhook that has failed since a time.
func (b bench) failing(since time.Time) notice.Webhook {
	w := notice.Webhook{ID: id.At(noon), StoreID: b.store, URL: "https://shop.example/secret-path", Description: "CRM\nsync", FailingSince: since}
	b.set(`INSERT INTO webhooks (id, store_id, url, description, events, secret, secret_key, failing_since, created_at, updated_at)
 VALUES ($1, $2, $3, $4, '[]', $5, $6, $7, $8, $8)`, w.ID, w.StoreID, w.URL, w.Description, []byte{1}, b.secrets.Current(), since, noon)
	return w
}

// recover clears the webhook's failing_since, as a worker does after a success.
func (b bench) recover(w notice.Webhook) error {
	return hook.Run(b.t.Context(), b.DB, func(c *hook.Change) error {
		if err := b.exec(c, "UPDATE webhooks SET failing_since = NULL WHERE id = $1", w.ID); err != nil {
			return err
		}
		return notice.WriteRecovered(c, b.DB, c.Tx, c.Time(), w)
	})
}

func TestANoticeIsAnEventAboutAStore(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		exported := notice.Notice{Type: notice.StoreExported, StoreID: b.store, Data: map[string]any{"exportedAt": noon}}
		b.write(exported)
		require.Empty(t, b.notices(), "no webhook gets it")

		b.register()
		b.set("UPDATE stores SET name = $1 WHERE id = $2", "\u2029Awa & <b>\r\nBcc: x@example.com\u2028!", b.store)
		b.write(exported)
		b.write(notice.Notice{Type: notice.BackupFailed, Data: map[string]any{"bytes": 7, "error": "disk:\nfull"}})
		all := b.notices()
		require.Equal(t, b.store.String(), all[0].Store.ID)
		require.Equal(t, "boutique", all[0].Store.Slug)
		require.Equal(t, map[string]any{"storeName": "Awa & <b> Bcc: x@example.com !", "supportEmail": "help@shop.example",
			"exportedAt": "2026-10-01T12:00:00.000Z"}, all[0].Data)
		require.Equal(t, uuid.Nil.String(), all[1].Store.ID)
		require.Equal(t, map[string]any{"bytes": 7.0, "error": "disk: full"}, all[1].Data)

		require.NoError(t, notice.SetWebhook(t.Context(), b.DB, nil, "", ""))
		b.write(exported)
		require.Len(t, b.notices(), 2, "the webhook is disabled")
		b.register()
		b.write(exported)
		require.Len(t, b.notices(), 3, "it is enabled again")
	})
}

// Processes that start at the same time make one webhook without a store, with the URL and the secret of one of them.
func TestOneWebhookGetsNotices(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		var starts errgroup.Group
		for i := range 4 {
			starts.Go(func() error {
				return notice.SetWebhook(t.Context(), b.DB, b.secrets, fmt.Sprint("https://mailer", i, ".example"), fmt.Sprint("whsec_", i))
			})
		}
		require.NoError(t, starts.Wait())
		made, err := b.Client().Webhook.Query().Only(t.Context())
		require.NoError(t, err)
		require.Equal(t, notice.NoStore, made.StoreID)
		secret, err := b.secrets.Open(made.Secret, made.SecretKey, made.ID[:])
		require.NoError(t, err)
		require.Equal(t, made.URL, fmt.Sprintf("https://mailer%s.example", strings.TrimPrefix(secret, "whsec_")))
		_, err = b.Writer().ExecContext(t.Context(), `INSERT INTO webhooks (id, store_id, url, events, secret, secret_key, created_at, updated_at)
 VALUES ($1, $2, 'https://other.example', '[]', $3, '', $4, $4)`, id.At(noon), notice.NoStore, []byte{1}, noon)
		require.True(t, db.IsUnique(err), "%v", err)
	})
}

// A webhook's failures cause a notice after an hour, a day and two days, and its next success causes another. Each is written
// once, however many processes sweep.
func TestAWebhookThatFailsForLongIsToldOfInSteps(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		b.register()
		b.sweep(0)
		w, short := b.failing(noon), b.failing(noon.Add(30*time.Minute))
		b.sweep(59 * time.Minute)
		require.Empty(t, b.notices())
		require.NoError(t, b.recover(short))
		b.sweep(10 * time.Minute)
		var sweeps errgroup.Group
		for range 3 {
			sweeps.Go(func() error { return notice.Sweep(t.Context(), b.DB) })
		}
		require.NoError(t, sweeps.Wait())
		require.Equal(t, []string{notice.WebhookFailing}, b.types())
		require.Equal(t, map[string]any{"storeName": "Boutique & Co", "supportEmail": "help@shop.example", "webhookId": w.ID.String(),
			"host": "shop.example", "description": "CRM sync", "failingSince": "2026-10-01T12:00:00.000Z", "hours": 1.0}, b.notices()[0].Data)
		for range 30 {
			b.sweep(2 * time.Hour)
		}
		var hours []any
		for _, n := range b.notices() {
			hours = append(hours, n.Data["hours"])
		}
		require.Equal(t, []any{1.0, 25.0, 49.0}, hours)
		require.NoError(t, b.recover(w))
		b.sweep(time.Hour)
		require.Equal(t, notice.WebhookRecovered, b.types()[3])
		require.Len(t, b.types(), 4)
	})
}

// What became due while no worker ran is told of once, by its last step. What was due before the first sweep is not.
func TestNoticesOfTheTimeWithoutAWorker(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		b.register()
		b.failing(noon.Add(-3 * time.Hour))
		b.sweep(0)
		require.Empty(t, b.notices())
		b.key("crm", 15*24*time.Hour)
		b.sweep(13 * 24 * time.Hour)
		require.Equal(t, []string{notice.WebhookFailing, notice.KeyExpiring}, b.types())
		require.EqualValues(t, 2, b.notices()[1].Data["days"])

		b.sweep(-24 * time.Hour) // the clock is set back
		b.sweep(0)
		require.Len(t, b.types(), 2)
		b.sweep(4 * 24 * time.Hour)
		require.Equal(t, notice.KeyExpired, b.types()[2])
		require.Len(t, b.types(), 3)
	})
}

// A sweep and a success at the same time agree: the success causes a notice exactly if the sweep has seen the failures.
func TestASweepAndASuccessAtOnce(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		b.register()
		b.sweep(0)
		for range 20 {
			w := b.failing(b.Now())
			b.clock.Add(time.Hour.Milliseconds())
			before := len(b.notices())
			var both errgroup.Group
			both.Go(func() error { return notice.Sweep(t.Context(), b.DB) })
			both.Go(func() error { return b.recover(w) })
			require.NoError(t, both.Wait())
			require.Contains(t, []int{0, 2}, len(b.notices())-before)
		}
	})
}

// key creates a key that expires a time after noon.
func (b bench) key(name string, lifetime time.Duration) {
	b.set(`INSERT INTO api_keys (id, store_id, name, fingerprint, hint, scopes, expires_at, created_at)
 VALUES ($1, $2, $3, $4, '', '[]', $5, $6)`, id.At(noon), b.store, name, []byte(name), noon.Add(lifetime), noon)
}

func TestAKeyIsToldOfBeforeItExpires(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		b.register()
		b.sweep(0)
		b.key("crm", 30*24*time.Hour)
		b.key("revoked", 30*24*time.Hour)
		b.set("UPDATE api_keys SET revoked_at = $1 WHERE name = 'revoked'", noon)
		b.key("of old", -8*24*time.Hour)
		b.key("short", 60*time.Hour)
		var told [][2]any
		for hour := range 40 * 24 {
			b.sweep(time.Hour)
			all := b.notices()
			for _, n := range all[len(told):] {
				told = append(told, [2]any{n.Type, hour + 1})
			}
		}
		require.Equal(t, [][2]any{{notice.KeyExpired, 60}, {notice.KeyExpiring, 16 * 24}, {notice.KeyExpiring, 27 * 24}, {notice.KeyExpired, 30 * 24}},
			told)
		require.Equal(t, map[string]any{"storeName": "Boutique & Co", "supportEmail": "help@shop.example", "keyId": b.notices()[1].Data["keyId"],
			"name": "crm", "expiresAt": "2026-10-31T12:00:00.000Z", "days": 14.0}, b.notices()[1].Data)
		require.EqualValues(t, 3, b.notices()[2].Data["days"])
	})
}
