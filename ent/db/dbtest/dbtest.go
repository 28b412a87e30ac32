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

// maxConns is how many connections to PostgreSQL one test has at most, because many tests share one server.
const maxConns = 8

// Databases lists the names of the kinds of databases. On Citus it leaves out SQLite, because other test runs cover it.
func Databases() []string {
	if len(Citus()) > 0 {
		return []string{Postgres}
	}
	return []string{SQLite, Postgres}
}

// Run runs f as a subtest on each kind of database, each with a fresh migrated database that is removed afterwards. The
// subtests run in parallel.
func Run(t *testing.T, f func(t *testing.T, d *db.DB)) {
	t.Helper()
	RunWith(t, db.Config{}, f)
}

// RunWith runs f as a subtest on each kind of database, each with a fresh migrated database that is removed afterwards. It
// opens the databases with the configuration c, which may have another clock, for example, and sets the URL in c. The
// subtests run in parallel.
func RunWith(t *testing.T, c db.Config, f func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, name := range Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, New(t, name, c))
		})
	}
}

// New opens a fresh migrated database and removes it when the test ends. name is one of Databases, or the name of an ent
// dialect.
func New(t testing.TB, name string, c db.Config) *db.DB {
	t.Helper()
	c.URL = URL(t, name)
	return open(t, c)
}

// NewEmpty opens a fresh database without tables, and removes it when the test ends.
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

// URL returns the URL of a fresh migrated database, which is removed when the test ends.
func URL(t testing.TB, name string) string {
	t.Helper()
	if isSQLite(t, name) {
		return migratedFile(t)
	}
	return createDatabase(t, true)
}

// EmptyURL returns the URL of a fresh database without tables, which is removed when the test ends.
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
