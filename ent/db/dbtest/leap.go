package dbtest

import (
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
)

// LeapingURL returns the URL of a fresh migrated PostgreSQL database with a clock of its own: now() and clock_timestamp()
// return the time of the server and the sum of all leaps. The database is removed when the test ends.
func LeapingURL(t testing.TB) (address string, leap func(time.Duration)) {
	t.Helper()
	OnePostgres(t, "the functions of the clock are on one server")
	address = URL(t, Postgres)
	u, err := url.Parse(address)
	require.NoError(t, err)
	query := u.Query()
	query.Set("search_path", "clock,pg_catalog,public")
	u.RawQuery = query.Encode()
	pool, err := sql.Open("postgres", address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	_, err = pool.ExecContext(t.Context(), `CREATE SCHEMA clock;
CREATE TABLE clock.leaps (seconds float8 NOT NULL);
CREATE FUNCTION clock.leap() RETURNS interval LANGUAGE sql STABLE AS 'SELECT make_interval(secs => COALESCE(sum(seconds), 0)) FROM clock.leaps';
CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now() + clock.leap()';
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp() + clock.leap()';`)
	require.NoError(t, err)
	return u.String(), func(by time.Duration) {
		t.Helper()
		_, err := pool.ExecContext(t.Context(), "INSERT INTO clock.leaps VALUES ($1)", by.Seconds())
		require.NoError(t, err)
	}
}

// Leaping opens a database of LeapingURL, as one of several processes does. The process follows a leap only after its next
// ReadClock.
func Leaping(t testing.TB, address string) *db.DB {
	t.Helper()
	return open(t, db.Config{URL: address})
}
