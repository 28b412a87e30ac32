package db_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

type trips struct {
	mu   sync.Mutex
	list []string
}

func (l *trips) add(query string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, query)
}

func (l *trips) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// runObserved has one connection, whose round trips observed records.
func runObserved(t *testing.T, f func(t *testing.T, d *db.DB, observed *trips)) {
	t.Helper()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var observed trips
			f(t, dbtest.New(t, name, db.Config{MaxConns: 1, Observe: observed.add}), &observed)
		})
	}
}

const byName = "SELECT name FROM stores WHERE slug = $1"

func nameOf(t *testing.T, d *db.DB, slug string) string {
	t.Helper()
	var name string
	require.NoError(t, d.Reader().QueryRow(byName, slug).Scan(&name))
	return name
}

func TestAStatementIsPreparedOnceForAConnection(t *testing.T) {
	t.Parallel()
	runObserved(t, func(t *testing.T, d *db.DB, observed *trips) {
		addStore(t, d, "shop", d.Now())
		observed.take()
		require.Equal(t, "shop", nameOf(t, d, "shop"))
		require.Equal(t, []string{byName, "prepare"}, observed.take())
		require.Equal(t, "shop", nameOf(t, d, "shop"))
		require.Equal(t, []string{byName}, observed.take())
	})
}

func TestATransactionUsesTheStatementsOfItsConnection(t *testing.T) {
	t.Parallel()
	runObserved(t, func(t *testing.T, d *db.DB, observed *trips) {
		addStore(t, d, "first", d.Now())
		observed.take()
		addStore(t, d, "second", d.Now())
		seen := observed.take()
		require.NotContains(t, seen, "prepare")
		require.Len(t, seen, 4, "the row and the journal entry: %q", seen)
		require.Equal(t, "BEGIN", seen[0])
		require.Equal(t, "COMMIT", seen[3])

		require.Error(t, hook.Run(asOperator(uuid.New()), d, func(c *hook.Change) error {
			return newStore(c, "second", d.Now()).Exec(c)
		}))
		require.Equal(t, "ROLLBACK", observed.take()[2])
		addStore(t, d, "third", d.Now()) // the prepared statement still works after the failure
	})
}

// PostgreSQL's protocol carries one result at a time.
func TestTwoResultsInOneTransactionOnSQLite(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	addStore(t, d, "a", d.Now())
	addStore(t, d, "b", d.Now())
	err := hook.Run(context.Background(), d, func(c *hook.Change) error {
		const query = "SELECT slug FROM stores WHERE slug >= $1 ORDER BY slug"
		outer, err := c.Tx.QueryContext(c, query, "a")
		require.NoError(t, err)
		defer func() { require.NoError(t, outer.Close()) }()
		require.True(t, outer.Next())
		inner, err := c.Tx.QueryContext(c, query, "b")
		require.NoError(t, err)
		var slug string
		require.True(t, inner.Next())
		require.NoError(t, inner.Scan(&slug))
		require.Equal(t, "b", slug)
		require.NoError(t, inner.Close())
		require.True(t, outer.Next(), "the outer result goes on")
		require.NoError(t, outer.Scan(&slug))
		require.Equal(t, "b", slug)
		return nil
	})
	require.NoError(t, err)
}

func TestMoreStatementsThanAreKept(t *testing.T) {
	t.Parallel()
	runObserved(t, func(t *testing.T, d *db.DB, observed *trips) {
		for i := range 250 {
			var n int
			require.NoError(t, d.Reader().QueryRow(fmt.Sprintf("SELECT %d + CAST($1 AS integer)", i), 1).Scan(&n))
			require.Equal(t, i+1, n)
		}
		if d.Dialect() == dialect.Postgres {
			var prepared int
			require.NoError(t, d.Reader().QueryRow("SELECT count(*) FROM pg_prepared_statements").Scan(&prepared))
			require.Equal(t, 200, prepared, "the server has forgotten the others")
		}
	})
}

func TestAStatementSurvivesAMigrationOfItsTable(t *testing.T) {
	t.Parallel()
	dbtest.RunWith(t, db.Config{MaxConns: 1}, func(t *testing.T, d *db.DB) {
		addStore(t, d, "shop", d.Now())
		const query = "SELECT * FROM stores WHERE slug = $1"
		columns := func() []string {
			rows, err := d.Reader().Query(query, "shop")
			require.NoError(t, err)
			defer func() { require.NoError(t, rows.Close()) }()
			require.True(t, rows.Next())
			names, err := rows.Columns()
			require.NoError(t, err)
			return names
		}
		require.NotContains(t, columns(), "added")
		_, err := d.Writer().Exec("ALTER TABLE stores ADD COLUMN added integer")
		require.NoError(t, err)
		require.Contains(t, columns(), "added")

		// In a transaction the lost connection is an error, and WithTx runs the transaction again.
		require.NoError(t, hook.Run(context.Background(), d, func(c *hook.Change) error {
			rows, err := c.Tx.QueryContext(c, query, "shop")
			if err != nil {
				return err
			}
			return rows.Close()
		}))
		_, err = d.Writer().Exec("ALTER TABLE stores ADD COLUMN added_too integer")
		require.NoError(t, err)
		runs := 0
		require.NoError(t, hook.Run(context.Background(), d, func(c *hook.Change) error {
			runs++
			rows, err := c.Tx.QueryContext(c, query, "shop")
			if err != nil {
				return err
			}
			return rows.Close()
		}))
		if d.Dialect() == dialect.Postgres {
			require.Equal(t, 2, runs)
		}
	})
}

func TestACancelledQueryLeavesTheNextOnesAlone(t *testing.T) {
	t.Parallel()
	slow := map[string]string{
		dialect.Postgres: "SELECT pg_sleep($1)",
		dialect.SQLite: `WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000000)
			SELECT max(i) FROM n`,
	}
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			observed := make(chan string, 64)
			url := dbtest.URL(t, name)
			d := openAt(t, db.Config{URL: url, MaxConns: 1, Observe: func(query string) {
				select {
				case observed <- query:
				default:
				}
			}})
			query := slow[d.Dialect()]
			running := func() bool { return true }
			if d.Dialect() == dialect.Postgres {
				other := openAt(t, db.Config{URL: url})
				running = func() bool {
					var n int
					err := other.Reader().QueryRow("SELECT count(*) FROM pg_stat_activity " +
						"WHERE datname = current_database() AND wait_event = 'PgSleep'").Scan(&n)
					return err == nil && n == 1
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				for seen := range observed {
					if seen != query {
						continue
					}
					// PostgreSQL ignores a request to cancel a query that it has not received yet.
					for !running() && t.Context().Err() == nil {
						time.Sleep(time.Millisecond)
					}
					cancel()
					return
				}
			}()
			rows, err := d.Reader().QueryContext(ctx, query, 100)
			if err == nil {
				rows.Next()
				err = rows.Err()
				require.NoError(t, rows.Close())
			}
			require.ErrorIs(t, err, context.Canceled)
			require.False(t, db.IsUnreachable(err))
			for range 20 {
				require.NoError(t, d.Ping(context.Background()))
				require.Equal(t, 1, one(t, d))
			}
		})
	}
}

// openAt opens the migrated database of c.URL until the test ends. A test may open one several times.
func openAt(t *testing.T, c db.Config) *db.DB {
	t.Helper()
	d, err := hook.Open(context.Background(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func one(t *testing.T, d *db.DB) int {
	t.Helper()
	var n int
	require.NoError(t, d.Reader().QueryRow("SELECT CAST($1 AS integer)", 1).Scan(&n))
	return n
}

func TestAConnectionThatTheServerEndsIsReplaced(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{MaxConns: 2})
	require.Equal(t, 1, one(t, d))
	end := func() {
		_, err := d.Reader().Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
			"WHERE datname = current_database() AND pid <> pg_backend_pid()")
		require.NoError(t, err)
	}
	err := hook.Run(context.Background(), d, func(c *hook.Change) error {
		if _, err := c.Tx.Store.Query().Count(c); err != nil {
			return err
		}
		end()
		_, err := c.Tx.Store.Query().Count(c)
		return err
	})
	require.True(t, db.IsUnreachable(err), "%v", err)
	require.Equal(t, 1, one(t, d), "the pool connects anew")
}
