// Package dbtest gives each test a fresh, migrated database of every supported kind, so that one
// suite runs on all of them.
//
// SQLite needs nothing. For PostgreSQL, STOREFRONT_TEST_POSTGRES is the URL of a server on which the tests may create and
// drop databases, with a user who may create the extensions pg_trgm and btree_gin. Without this variable the tests on
// PostgreSQL are skipped; with STOREFRONT_TEST_REQUIRE=1 they fail, so that CI cannot pass with half the tests.
package dbtest

import (
	"context"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
)

// The kinds of databases: arguments of New and URL, and names of subtests.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// maxConns bounds a test's connections to PostgreSQL, because many tests share one server.
const maxConns = 8

// Databases lists the kinds of databases. On Citus it leaves out SQLite, which other test runs cover.
func Databases() []string {
	if len(Citus()) > 0 {
		return []string{Postgres}
	}
	return []string{SQLite, Postgres}
}

// Run runs f as a parallel subtest on a fresh migrated database of each kind.
func Run(t *testing.T, f func(t *testing.T, d *db.DB)) {
	t.Helper()
	RunWith(t, db.Config{}, f)
}

// RunWith is Run with the configuration c, such as another clock. It sets the URL.
func RunWith(t *testing.T, c db.Config, f func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, name := range Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, New(t, name, c))
		})
	}
}

// New opens a fresh migrated database until the test ends. name is one of Databases, or an ent dialect.
func New(t testing.TB, name string, c db.Config) *db.DB {
	t.Helper()
	c.URL = URL(t, name)
	return open(t, c)
}

// NewEmpty opens a fresh database without tables until the test ends.
func NewEmpty(t testing.TB, name string, c db.Config) *db.DB {
	t.Helper()
	c.URL = EmptyURL(t, name)
	return open(t, c)
}

func open(t testing.TB, c db.Config) *db.DB {
	t.Helper()
	if c.MaxConns == 0 {
		c.MaxConns = maxConns
	}
	d, err := hook.Open(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// URL returns the URL of a fresh migrated database, which exists until the test ends.
func URL(t testing.TB, name string) string {
	t.Helper()
	if isSQLite(t, name) {
		return migratedFile(t)
	}
	return createDatabase(t, true)
}

// EmptyURL returns the URL of a fresh database without tables, which exists until the test ends.
func EmptyURL(t testing.TB, name string) string {
	t.Helper()
	if isSQLite(t, name) {
		return emptyFile(t)
	}
	return createDatabase(t, false)
}

func isSQLite(t testing.TB, name string) bool {
	t.Helper()
	switch name {
	case SQLite, dialect.SQLite:
		return true
	case Postgres:
		return false
	}
	t.Fatalf("no database is called %q", name)
	return false
}
