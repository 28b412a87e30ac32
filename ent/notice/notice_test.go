package notice_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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
	// secrets seals the secrets of the sink and of webhooks.
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

func (b bench) sink(dashboard string) {
	b.t.Helper()
	require.NoError(b.t, notice.SetSink(b.t.Context(), b.DB, b.secrets, notice.Sink{URL: "https://mailer.example",
		Secret:    "whsec_x",
		Dashboard: dashboard}))
}

// payload has the fields of a notice that the tests compare.
type payload struct {
	Type  string
	Store struct{ ID, Slug string }
	Data  struct {
		StoreName, SupportEmail, Subject, Text string
		Page                                   *string
		About                                  map[string]any
	}
}

// notices returns the notices written so far, oldest first.
func (b bench) notices() (all []payload) {
	b.t.Helper()
	rows, err := b.Client().Event.Query().Where(event.StoreID(notice.Platform)).Order(event.ByID()).All(b.t.Context())
	require.NoError(b.t, err)
	for _, row := range rows {
		var n payload
		require.NoError(b.t, json.Unmarshal(row.Payload, &n))
		require.Equal(b.t, row.Type, n.Type)
		all = append(all, n)
	}
	return all
}

func (b bench) types() (types []string) {
	for _, n := range b.notices() {
		types = append(types, n.Type)
	}
	return types
}

// deliver deletes all deliveries, as if the sink had received the notices.
func (b bench) deliver() {
	b.set("DELETE FROM deliveries")
	if dbtest.IsCitus(b.DB) {
		b.set("DELETE FROM outbox")
	}
}

func (b bench) sweep(after time.Duration) {
	b.t.Helper()
	b.clock.Add(after.Milliseconds())
	require.NoError(b.t, notice.Sweep(b.t.Context(), b.DB))
}

// webhook creates a webhook that has failed since the time failingSince, and returns its id.
func (b bench) webhook(failingSince time.Time) uuid.UUID {
	made := id.At(noon)
	b.set(`INSERT INTO webhooks (id, store_id, url, events, secret, secret_key, failing_since, created_at, updated_at)
 VALUES ($1, $2, 'https://shop.example/secret-path', '[]', $3, $5, $4, $4, $4)`, made, b.store, []byte{1}, failingSince, b.secrets.Current())
	return made
}

func TestANoticeNamesItsStoreAndItsPage(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		write := func(n notice.Notice) (written uuid.UUID) {
			b.do(func(c *hook.Change) (err error) {
				written, err = notice.Write(c, b.DB, c.Tx, c.Time(), n)
				return err
			})
			return written
		}
		exported := notice.Notice{Type: notice.StoreExported, StoreID: b.store, Text: "All was exported."}
		require.Zero(t, write(exported), "there is no sink")
		require.Empty(t, b.notices())

		b.sink("https://dashboard.example")
		require.NotZero(t, write(exported))
		require.NotZero(t, write(notice.Notice{Type: notice.BackupFinished, Text: "The backup is in /b.",
			About: map[string]any{"bytes": 7}}))
		all := b.notices()
		require.Equal(t, "help@shop.example", all[0].Data.SupportEmail)
		require.Equal(t, b.store.String(), all[0].Store.ID)
		require.Equal(t, "The data of Boutique & Co was exported", all[0].Data.Subject)
		require.Equal(t, "All was exported. The page: https://dashboard.example/dashboard", all[0].Data.Text)
		require.Equal(t, "https://dashboard.example/dashboard", *all[0].Data.Page)
		require.Equal(t, uuid.Nil.String(), all[1].Store.ID)
		require.Nil(t, all[1].Data.Page)
		require.Equal(t, map[string]any{"bytes": 7.0}, all[1].Data.About)

		require.NoError(t, notice.SetSink(t.Context(), b.DB, nil, notice.Sink{}))
		require.Zero(t, write(exported), "the sink is off")
		b.sink("")
		require.NotZero(t, write(exported), "it is on again")
		require.Nil(t, b.notices()[2].Data.Page)
	})
}

// While a webhook fails, the platform gets one notice of the first failure, one after a day and one after two days, however
// often the webhook's state is checked. Another notice tells that the webhook was disabled.
func TestAWebhookIsToldOfInSteps(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		made := b.webhook(noon)
		b.sweep(time.Minute)
		require.Empty(t, b.notices(), "there is no sink")
		b.sink("https://dashboard.example")
		for range 3 {
			b.sweep(time.Minute)
		}
		require.Equal(t, []string{notice.WebhookFailing}, b.types())
		first := b.notices()[0]
		require.Contains(t, first.Data.Text, "The webhook at shop.example has not accepted an event since 1 October 2026 at 12:00 UTC.")
		require.Equal(t, "https://dashboard.example/dashboard/webhooks/"+made.String(), *first.Data.Page)
		require.NotContains(t, first.Data.Text, "secret-path")

		b.deliver()
		for range 3 {
			b.sweep(24 * time.Hour)
			b.sweep(0)
			b.deliver()
		}
		require.Equal(t, []string{notice.WebhookFailing, notice.WebhookFailing, notice.WebhookFailing}, b.types())
		require.InDelta(t, 24, b.notices()[1].Data.About["hours"], 0)
		require.InDelta(t, 48, b.notices()[2].Data.About["hours"], 0)

		b.set("UPDATE webhooks SET enabled = $1, disabled_automatically = $2 WHERE id = $3", false, true, made)
		b.sweep(0)
		b.sweep(time.Hour)
		require.Equal(t, notice.WebhookDisabled, b.types()[3])
		require.Len(t, b.types(), 4)
	})
}

// While a notice about a webhook is undelivered, no further notice about the webhook is written. So notices arrive in order,
// and a state of the webhook that ends before the delivery causes no notice.
func TestNoticesOfAWebhookWaitForEachOther(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		b.sink("")
		made := b.webhook(noon)
		b.sweep(time.Minute)
		b.set("UPDATE webhooks SET failing_since = NULL WHERE id = $1", made)
		b.sweep(time.Minute)
		require.Equal(t, []string{notice.WebhookFailing}, b.types(), "the sink has not got it")
		b.deliver()
		b.sweep(time.Minute)
		require.Equal(t, []string{notice.WebhookFailing, notice.WebhookRecovered}, b.types())
		b.deliver()

		b.set("UPDATE webhooks SET failing_since = $1 WHERE id = $2", b.Now(), made)
		b.sweep(time.Minute)
		require.Len(t, b.types(), 2, "it began to fail less than an hour after the last notice")
		b.sweep(time.Hour)
		require.Len(t, b.types(), 3)
	})
}

func TestAKeyIsToldOfBeforeItExpires(t *testing.T) {
	t.Parallel()
	run(t, func(b bench) {
		b.sink("https://dashboard.example")
		add := func(name string, lifetime time.Duration, revoked *time.Time) {
			b.set(`INSERT INTO api_keys (id, store_id, name, fingerprint, hint, scopes, expires_at, revoked_at, created_at)
 VALUES ($1, $2, $3, $4, '', '[]', $5, $6, $7)`, id.At(noon), b.store, name, []byte(name), noon.Add(lifetime), revoked, noon)
		}
		add("crm", 30*24*time.Hour, nil)
		add("revoked", 30*24*time.Hour, new(noon))
		add("of old", -8*24*time.Hour, nil)
		steps := []int{0, 15, 16, 17, 26, 27, 28, 29, 30, 31, 40}
		var at []int
		for i, day := range steps {
			last := 0
			if i > 0 {
				last = steps[i-1]
			}
			b.sweep(time.Duration(day-last) * 24 * time.Hour)
			b.sweep(0)
			for len(at) < len(b.types()) {
				at = append(at, day)
			}
		}
		require.Equal(t, []string{notice.KeyExpiring, notice.KeyExpiring, notice.KeyExpired}, b.types())
		require.Equal(t, []int{16, 27, 30}, at)
		require.Contains(t, b.notices()[0].Data.Text, `The API key "crm" expires in 14 days, on 31 October 2026 at 12:00 UTC.`)
		require.Contains(t, b.notices()[2].Data.Text, `The API key "crm" expired on 31 October 2026 at 12:00 UTC`)
		require.Equal(t, "https://dashboard.example/dashboard/keys", *b.notices()[2].Data.Page)
	})
}
