package db_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	entstore "go.storefront.example/gen/ent/store"
)

func addStore(t testing.TB, d *db.DB, slug string, at time.Time) uuid.UUID {
	t.Helper()
	id := uuid.New()
	require.NoError(t, hook.Run(asOperator(id), d, func(c *hook.Change) error {
		return newStore(c, slug, at).Exec(c)
	}))
	return id
}

// newStore gets the id of the context's store.
func newStore(c *hook.Change, slug string, at time.Time) *ent.StoreCreate {
	subject, _, _ := tenant.From(c)
	return c.Tx.Store.Create().SetID(subject.ID).SetName(slug).SetSlug(slug).SetURL("https://example.com/" + slug).
		SetCurrency("XAF").SetCountry("CM").SetCreatedAt(at).SetUpdatedAt(at)
}

func asOperator(storeID uuid.UUID) context.Context {
	return tenant.With(context.Background(), tenant.Store{ID: storeID, Currency: "XAF", Country: "CM"},
		tenant.Actor{Type: tenant.ActorOperator, Name: "operator"})
}

// pools counts this process's open pools by their goroutines.
func pools() int {
	stacks := make([]byte, 4<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("sql.(*DB).connectionOpener("))
}

// Not parallel, because it counts the pools of the process.
func TestOpenLeavesNoPoolBehindWhenItFails(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("no database"), 100), 0o600))
	before := pools()
	_, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + text, AdmissionConns: 2})
	require.Error(t, err)
	require.Eventually(t, func() bool { return pools() <= before }, hang, time.Millisecond)

	url := dbtest.EmptyURL(t, dbtest.Postgres)
	before = pools()
	for err = nil; err == nil; { // try again if Open ends before it notices the cancelled context
		ctx, leave := context.WithCancel(t.Context())
		var opened *db.DB
		opened, err = hook.Open(ctx, db.Config{URL: url, AdmissionConns: 2, Observe: func(query string) {
			if query == "SELECT clock_timestamp()" {
				leave()
			}
		}})
		leave()
		if err == nil {
			require.NoError(t, opened.Close())
		}
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return pools() <= before }, hang, time.Millisecond)
}

func TestOpenRefusesWhatNamesNoDatabase(t *testing.T) {
	t.Parallel()
	for url, reason := range map[string]string{
		"":                               "nothing",
		"storefront.db":                  "no scheme",
		"mysql://root:hunter2@localhost": "an unknown scheme",
		"sqlite:":                        "no path",
		"sqlite::memory:":                "lost with each connection",
		"sqlite://storefront.db":         "a host where there is none",
		"sqlite:a\x00b":                  "no system allows it in a path",
		"postgres:localhost":             "no slashes",
		"postgres://u:hun/ter2@h/db":     "a password that is not percent-encoded",
		"postgres://u:hunter2@h:x/db":    "a port that is no number",
		"postgres://u@h/db?sslmode=what": "a parameter out of its set",
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			_, err := hook.Open(context.Background(), db.Config{URL: url})
			require.ErrorIs(t, err, db.ErrURL)
			require.True(t, strings.HasPrefix(err.Error(), "database-url: "), err.Error())
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "hun", "a password")
			require.NotContains(t, err.Error(), "ter2", "a password")
		})
	}
}

func TestOpenTellsInOneLineThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	port, err := cluster.FreePort()
	require.NoError(t, err)
	for name, url := range map[string]string{
		"no server":        fmt.Sprintf("postgres://u:hunter2@127.0.0.1:%d/db", port),
		"no folder":        "sqlite:" + filepath.Join(t.TempDir(), "missing", "storefront.db"),
		"a folder instead": "sqlite:" + t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := hook.Open(context.Background(), db.Config{URL: url})
			require.ErrorContains(t, err, "reach the database: ")
			require.NotErrorIs(t, err, db.ErrURL)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestOpenOnAServerWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t, dbtest.Postgres)
	url, query, _ := strings.Cut(url, "?")
	_, err := hook.Open(context.Background(), db.Config{URL: url + "_missing?" + query})
	require.ErrorContains(t, err, "reach the database: ")
	require.ErrorContains(t, err, "does not exist")
}

func TestOpenTakesAPlainServerWhenTheURLSaysNothingOfTLS(t *testing.T) {
	t.Parallel()
	url, _, _ := strings.Cut(dbtest.EmptyURL(t, dbtest.Postgres), "?")
	open(t, url)
}

func TestAnyPathNamesASQLiteFile(t *testing.T) {
	t.Parallel()
	names := []string{"plain.db", "two words.db", "100%41.db", "é#&=.db"}
	if runtime.GOOS != "windows" {
		names = append(names, "what?mode=ro.db") // a name that Windows does not allow
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			d := open(t, "sqlite:"+path)
			require.Equal(t, dialect.SQLite, d.Dialect())
			require.NoError(t, d.Migrate(context.Background(), func(db.Migration) {}))
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Positive(t, info.Size())
			if runtime.GOOS != "windows" {
				require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "customers' data is nobody else's")
			}
		})
	}
}

func TestARelativePathNamesAFileInTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	open(t, "sqlite:storefront.db")
	_, err := os.Stat("storefront.db")
	require.NoError(t, err)
}

func TestNowIsUTCInMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 3, 0, 0, 123_456_789, time.FixedZone("", 3600))
	d := dbtest.New(t, dbtest.SQLite, db.Config{Clock: func() time.Time { return at }})
	require.Equal(t, time.Date(2026, 9, 1, 2, 0, 0, 123_000_000, time.UTC), d.Now())
}

func TestTheReadPoolOfSQLiteRefusesWrites(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	_, err := d.Reader().Exec("DELETE FROM stores")
	require.ErrorContains(t, err, "readonly")
}

func TestForeignKeysAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		nowhere := uuid.New()
		err := hook.Run(asOperator(nowhere), d, func(c *hook.Change) error {
			return c.Tx.ApiKey.Create().SetStoreID(nowhere).SetName("k").SetFingerprint(make([]byte, 32)).
				SetHint("h").SetScopes([]string{}).SetCreatedAt(d.Now()).Exec(c)
		})
		require.True(t, ent.IsConstraintError(err), "%v", err)
		require.False(t, db.IsUnique(err))
	})
}

func TestACustomerKeepsEmailOrPhone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		id := addStore(t, d, "shop", d.Now())
		err := hook.Run(asOperator(id), d, func(c *hook.Change) error {
			return c.Tx.Customer.Create().SetStoreID(id).SetSearch("").
				SetCreatedAt(d.Now()).SetUpdatedAt(d.Now()).Exec(c)
		})
		require.ErrorContains(t, err, "customer_identified")
	})
}

func TestTimesAreTheSameByEveryWayOfReading(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		for slug, at := range map[string]time.Time{
			"now":           time.Date(2026, 9, 1, 12, 0, 0, 7_000_000, time.UTC),
			"whole-second":  time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC),
			"before-2001":   time.Date(1999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
			"epoch":         time.Unix(0, 0).UTC(),
			"before-epoch":  time.Date(1965, 3, 1, 0, 0, 0, 1_000_000, time.UTC),
			"far":           time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
			"another-zone":  time.Date(2026, 9, 1, 12, 0, 0, 0, time.FixedZone("", -5*3600)),
			"early-morning": time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC),
		} {
			id := addStore(t, d, slug, at)

			row, err := d.Client().Store.Get(ctx, id)
			require.NoError(t, err, slug)
			require.Equal(t, at.UTC(), row.CreatedAt, slug)

			var raw time.Time
			var null sql.NullTime
			require.NoError(t, d.Reader().QueryRowContext(ctx,
				"SELECT created_at, updated_at FROM stores WHERE id = $1", id).Scan(&raw, &null), slug)
			require.Equal(t, at.UTC(), raw, slug)
			require.Equal(t, sql.NullTime{Time: at.UTC(), Valid: true}, null, slug)

			for bound, want := range map[time.Duration]bool{-time.Millisecond: true, 0: true, time.Millisecond: false} {
				found, err := d.Client().Store.Query().
					Where(entstore.ID(id), entstore.CreatedAtGTE(at.Add(bound))).Exist(ctx)
				require.NoError(t, err, slug)
				require.Equal(t, want, found, "%s, created_at >= that %+v", slug, bound)
				var n int
				require.NoError(t, d.Reader().QueryRowContext(ctx,
					"SELECT count(*) FROM stores WHERE id = $1 AND created_at >= $2", id, at.Add(bound)).Scan(&n))
				require.Equal(t, want, n == 1, "%s, created_at >= that %+v", slug, bound)
			}
		}
		var unset sql.NullTime
		id := addStore(t, d, "key", d.Now())
		require.NoError(t, hook.Run(asOperator(id), d, func(c *hook.Change) error {
			return c.Tx.ApiKey.Create().SetStoreID(id).SetName("k").SetFingerprint(make([]byte, 32)).
				SetHint("h").SetScopes([]string{}).SetCreatedAt(d.Now()).Exec(c)
		}))
		require.NoError(t, d.Reader().QueryRowContext(ctx, "SELECT revoked_at FROM api_keys").Scan(&unset))
		require.False(t, unset.Valid)
	})
}
