package db_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	entdialect "entgo.io/ent/dialect"
	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/migrations"
)

func addStores(t *testing.T, d *db.DB, n int) {
	t.Helper()
	now, series := "now()", "SELECT n, md5(n::text)::uuid AS id FROM generate_series(1, $1::int) AS n"
	if d.Dialect() == entdialect.SQLite {
		now, series = "unixepoch() * 1000", "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < $1) SELECT n, 'id' || n AS id FROM c"
	}
	for _, insert := range []string{
		`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 SELECT id, 's', 's' || n, 'u', 'XAF', 'CM', '{}', '[]', ` + now + `, ` + now + ` FROM (` + series + `) AS s`,
		`INSERT INTO customers (id, store_id, email, search, created_at, updated_at)
 SELECT id, id, 'c' || n || '@example.com', '', ` + now + `, ` + now + ` FROM (` + series + `) AS s`,
	} {
		_, err := d.Writer().Exec(insert, n)
		require.NoError(t, err)
	}
}

func TestAPlanHasThePendingMigrations(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		d := open(t, url)
		all, err := d.Migrations(t.Context())
		require.NoError(t, err)
		plan, err := d.Plan(t.Context())
		require.NoError(t, err)
		require.Len(t, plan, len(all))
		for _, m := range plan {
			for _, statement := range m.Statements {
				require.Empty(t, statement.Tables)
			}
		}

		dbtest.MigrateTo(t, d, 1)
		const rows = 3000
		addStores(t, d, rows)
		plan, err = d.Plan(t.Context())
		require.NoError(t, err)
		require.Len(t, plan, len(all)-1)
		require.Equal(t, all[1].Name, plan[0].Name)
		locked := map[string]string{}
		for _, statement := range plan[0].Statements {
			for _, table := range statement.Tables {
				locked[table.Name] += table.Lock + " "
				if table.Name == "customers" {
					require.InEpsilon(t, rows, table.Rows, 0.5)
					require.Greater(t, table.Bytes, int64(rows*50))
				}
			}
		}
		if d.Dialect() == entdialect.SQLite {
			require.Equal(t, "WRITE ", locked["events"][:6])
		} else {
			require.Contains(t, locked["orders"], "SHARE UPDATE EXCLUSIVE")
		}
		before, err := d.Migrations(t.Context())
		require.NoError(t, err)
		require.Nil(t, before[1].AppliedAt, "a plan changes nothing")

		require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
		plan, err = d.Plan(t.Context())
		require.NoError(t, err)
		require.Empty(t, plan)
	})
}

// Plan derives the locks from each statement's text. They must be those that PostgreSQL takes, for every migration.
func TestAPlanHasTheLocksThatPostgreSQLTakes(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	dbtest.MigrateTo(t, d, 1)
	plan, err := d.Plan(t.Context())
	require.NoError(t, err)
	conn, err := d.Writer().Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	exec := func(conn interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, statement string, args ...any) {
		_, err := conn.ExecContext(t.Context(), statement, args...)
		require.NoError(t, err, statement)
	}
	compared := 0
	for _, m := range plan {
		now, err := d.Plan(t.Context())
		require.NoError(t, err)
		existing := tables(t, conn)
		for _, statement := range now[0].Statements {
			if strings.Contains(statement.SQL, "CONCURRENTLY") || strings.Contains(statement.SQL, "COMMIT;") || strings.HasPrefix(statement.SQL, "SET ") {
				exec(conn, statement.SQL) // outside a transaction, because its end would release the locks
				continue
			}
			tx, err := conn.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			exec(tx, statement.SQL)
			taken := map[string]string{}
			for row := range db.Rows(t.Context(), tx, `SELECT relname, mode FROM pg_locks JOIN pg_class c ON c.oid = relation
 WHERE pid = pg_backend_pid() AND relkind = 'r' AND relname = ANY ($1) AND mode NOT IN ('AccessShareLock', 'RowShareLock')`, pq.Array(existing)) {
				var name, mode string
				require.NoError(t, row.Scan(&name, &mode))
				mode = lockNames.Replace(mode)
				if slices.Index(db.Locks, mode) > slices.Index(db.Locks, taken[name]) {
					taken[name] = mode
				}
			}
			require.NoError(t, tx.Commit())
			planned := map[string]string{}
			for _, table := range statement.Tables {
				if table.Lock != "ACCESS SHARE" {
					planned[table.Name] = table.Lock
				}
			}
			require.Equal(t, taken, planned, "%d %s: %s", m.Version, m.Name, statement.SQL)
			compared += len(taken)
		}
		exec(conn, "INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", m.Version)
	}
	require.Greater(t, compared, 10)
}

// lockNames turns names in pg_locks into those of PostgreSQL's documentation.
var lockNames = strings.NewReplacer("RowExclusiveLock", "ROW EXCLUSIVE", "ShareUpdateExclusiveLock", "SHARE UPDATE EXCLUSIVE",
	"ShareRowExclusiveLock", "SHARE ROW EXCLUSIVE", "ShareLock", "SHARE", "AccessExclusiveLock", "ACCESS EXCLUSIVE")

func tables(t *testing.T, q db.Querier) (names []string) {
	t.Helper()
	for row := range db.Rows(t.Context(), q, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace") {
		var name string
		require.NoError(t, row.Scan(&name))
		names = append(names, name)
	}
	return names
}

func TestAMigrationBeginsAgainAfterEachOfItsStatements(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	dbtest.MigrateTo(t, d, 1)
	const customers = 200
	addStores(t, d, customers)
	conn, err := d.Writer().Conn(t.Context())
	require.NoError(t, err)
	files, err := migrations.List(d.Dialect())
	require.NoError(t, err)
	run := func(statements ...string) {
		for _, statement := range statements {
			_, err := conn.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
	}
	for _, f := range files[1:] {
		if f.OneTransaction {
			run("BEGIN")
			run(f.Statements...)
			run("COMMIT")
		} else {
			for n := range f.Statements {
				run(f.Statements[n])
				run(f.Statements[:n+1]...)
			}
		}
		_, err := conn.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", f.Version)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close())
	requireTablesOfSchema(t, d)
	require.Equal(t, customers, dbtest.Count(t, d, "row_counts WHERE kind = 'customers' AND days = 1 AND total = 1"))
	require.Zero(t, dbtest.Count(t, d, "pg_constraint WHERE NOT convalidated OR conname LIKE '%2026_09'"))
}

// watch passes the progress of a migration of d to each() until that returns true. Then after() may stop the migration, whose
// error watch returns.
func watch(t *testing.T, d *db.DB, each func(db.MigrationProgress) bool, after func(stop func())) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	migrated := make(chan error, 1)
	watching, seen := context.WithCancel(t.Context())
	go func() {
		migrated <- d.Migrate(ctx, func(db.Migration) {})
		seen()
	}()
	d.WatchMigration(watching, func(p db.MigrationProgress) {
		if each(p) {
			seen()
		}
	})
	after(stop)
	return <-migrated
}

func TestAMigrationThatWaitsForATableIsReported(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	dbtest.MigrateTo(t, d, 1)
	holder, err := d.Writer().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = holder.Exec("SELECT 1 FROM orders")
	require.NoError(t, err)
	var waits db.MigrationProgress
	require.NoError(t, watch(t, d, func(p db.MigrationProgress) bool {
		waits = p
		return p.Waits && strings.Contains(p.SQL, "orders")
	}, func(func()) {
		_, err := d.Reader().Exec("SELECT 1 FROM orders")
		require.NoError(t, err, "others get the table while the migration waits")
		require.NoError(t, holder.Rollback())
	}))
	require.Positive(t, waits.Running)
}

// The next migration drops the invalid index of a stopped CREATE INDEX CONCURRENTLY and builds it again.
func TestAMigrationThatWasStoppedBuildsItsIndexAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	dbtest.MigrateTo(t, d, 1)
	addStores(t, d, 10)
	snapshot, err := d.Writer().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	_, err = snapshot.Exec("SELECT 1") // begins the snapshot, and locks no table
	require.NoError(t, err)
	err = watch(t, d, func(p db.MigrationProgress) bool {
		return strings.HasPrefix(p.SQL, "CREATE UNIQUE INDEX CONCURRENTLY") && p.Waits
	}, func(stop func()) { stop() })
	require.ErrorIs(t, err, context.Canceled)
	const invalid = "pg_index WHERE NOT indisvalid"
	require.Equal(t, 1, dbtest.Count(t, d, invalid))
	require.NoError(t, snapshot.Rollback())
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
	require.Zero(t, dbtest.Count(t, d, invalid))
	requireTablesOfSchema(t, d)
	require.Equal(t, 10, dbtest.Count(t, d, "row_counts WHERE kind = 'customers' AND days = 1 AND total = 1"))
}

// The file has either the whole migration or nothing of it.
func TestAMigrationOnSQLiteThatIsStoppedAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	files, err := migrations.List(entdialect.SQLite)
	require.NoError(t, err)
	for _, at := range []int{1, 5, len(files[1].Statements) / 2, len(files[1].Statements) + 3} {
		url := dbtest.EmptyURL(t, dbtest.SQLite)
		dbtest.MigrateTo(t, open(t, url), 1)
		addStores(t, open(t, url), 10)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ran := 0
		d, err := hook.Open(t.Context(), db.Config{URL: url, Observe: func(query string) {
			if slices.Contains(files[1].Statements, query) || slices.Contains(files[2].Statements, query) {
				if ran++; ran == at {
					stop()
				}
			}
		}})
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		require.Error(t, d.Migrate(ctx, func(db.Migration) {}))
		require.Equal(t, at, ran)
		require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
		require.Equal(t, 10, dbtest.Count(t, d, "row_counts WHERE kind = 'customers' AND days = 1 AND total = 1"))
	}
}
