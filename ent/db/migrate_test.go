package db_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"

	counts "go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func eachEmpty(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, dbtest.EmptyURL(t, name))
		})
	}
}

func open(t testing.TB, url string) *db.DB {
	t.Helper()
	d, err := hook.Open(context.Background(), db.Config{URL: url, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func TestMigrateBringsAnEmptyDatabaseUpToDateOnce(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		ctx := context.Background()
		d := open(t, url)

		current, err := d.Current(ctx)
		require.NoError(t, err)
		require.False(t, current, "an empty database is not current")
		before, err := d.Migrations(ctx)
		require.NoError(t, err)
		require.NotEmpty(t, before)
		require.Equal(t, "init", before[0].Name)
		require.Nil(t, before[0].AppliedAt)

		var reported []db.Migration
		require.NoError(t, d.Migrate(ctx, func(m db.Migration) { reported = append(reported, m) }))

		current, err = d.Current(ctx)
		require.NoError(t, err)
		require.True(t, current)
		after, err := d.Migrations(ctx)
		require.NoError(t, err)
		require.Equal(t, after, reported, "each migration is reported as the status then shows it")
		require.Len(t, after, len(before))
		for _, m := range after {
			require.NotNil(t, m.AppliedAt)
			require.Equal(t, time.UTC, m.AppliedAt.Location())
			require.WithinDuration(t, time.Now(), *m.AppliedAt, 10*time.Minute, "a zone would be off by an hour or more")
		}

		require.NoError(t, d.Migrate(ctx, func(m db.Migration) { t.Errorf("applied %d twice", m.Version) }))
	})
}

func TestMigrationsOfAnEmptyDatabaseChangeNothing(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		d := open(t, url)
		_, err := d.Migrations(context.Background())
		require.NoError(t, err)
		_, err = d.Reader().Exec("SELECT 1 FROM goose_db_version")
		require.Error(t, err, "asking for the status must not make tables")
	})
}

func TestMigrateFromSeveralStoresAtOnceAppliesEachMigrationOnce(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		ctx := context.Background()
		const processes = 4
		stores := make([]*db.DB, processes)
		for i := range stores {
			stores[i] = open(t, url)
		}
		var (
			wg       sync.WaitGroup
			mu       sync.Mutex
			reported []int64
		)
		for _, d := range stores {
			wg.Go(func() {
				err := d.Migrate(ctx, func(m db.Migration) {
					mu.Lock()
					defer mu.Unlock()
					reported = append(reported, m.Version)
				})
				if err != nil {
					t.Errorf("migrate: %v", err)
				}
			})
		}
		wg.Wait()
		all, err := stores[0].Migrations(ctx)
		require.NoError(t, err)
		var want []int64
		for _, m := range all {
			want = append(want, m.Version)
		}
		require.ElementsMatch(t, want, reported)
		var rows int
		require.NoError(t, stores[0].Reader().
			QueryRow("SELECT count(*) FROM goose_db_version WHERE version_id > 0").Scan(&rows))
		require.Equal(t, len(all), rows)
	})
}

func TestTheLoserOfARaceOnSQLiteIsRolledBackAndGoesOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := dbtest.EmptyURL(t, dbtest.SQLite)
	winner := open(t, url)
	begun := 0
	loser, err := hook.Open(ctx, db.Config{URL: url, Observe: func(query string) {
		if query != "BEGIN" {
			return
		}
		// The loser's first transaction makes the table of versions. Just before its second, a migration, the winner applies
		// all.
		if begun++; begun == 2 {
			require.NoError(t, winner.Migrate(ctx, func(db.Migration) {}))
		}
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, loser.Close()) })
	applied, err := loser.Migrations(ctx)
	require.NoError(t, err)
	require.NoError(t, loser.Migrate(ctx, func(m db.Migration) { t.Errorf("applied %d twice", m.Version) }))
	require.GreaterOrEqual(t, begun, 2)
	var rows int
	require.NoError(t, loser.Reader().
		QueryRow("SELECT count(*) FROM goose_db_version WHERE version_id > 0").Scan(&rows))
	require.Equal(t, len(applied), rows)
	_, err = loser.Writer().Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1)")
	require.True(t, db.IsUnique(err), "a version is noted once: %v", err)
}

func TestMigrateOnPostgreSQLWaitsForTheLockOfAnother(t *testing.T) {
	t.Parallel()
	d := open(t, dbtest.EmptyURL(t, dbtest.Postgres))
	held, err := d.Writer().Conn(context.Background())
	require.NoError(t, err)
	defer func() { require.NoError(t, held.Close()) }()
	_, err = held.ExecContext(context.Background(), "SELECT pg_advisory_lock($1)", lock.DefaultLockID)
	require.NoError(t, err)
	// A second is ten times as long as the migration takes if it waits for no lock.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	require.Error(t, d.Migrate(ctx, func(m db.Migration) { t.Errorf("applied %d", m.Version) }))
	current, err := d.Current(context.Background())
	require.NoError(t, err)
	require.False(t, current)
}

// Deadlocks happen because servers and workers lock tables in another order.
func TestAMigrationThatLosesADeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	_, err := d.Writer().Exec(`CREATE SEQUENCE deadlocks;
CREATE FUNCTION deadlock() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('deadlocks') <= 2 THEN
		RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected';
	END IF;
END $$;
CREATE EVENT TRIGGER deadlock ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION deadlock();`)
	require.NoError(t, err)
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
	require.Greater(t, dbtest.Count(t, d, "deadlocks WHERE last_value > 2"), 0)
}

// A database of release 2026-09 keeps its rows and the totals of its lists.
func TestADatabaseOf202609KeepsItsRows(t *testing.T) {
	t.Parallel()
	eachEmpty(t, func(t *testing.T, url string) {
		d := open(t, url)
		dbtest.MigrateTo(t, d, 1)
		exec := func(statement string, args ...any) error {
			_, err := d.Writer().Exec(statement, args...)
			return err
		}
		store, other, link, event, now := uuid.New(), uuid.New(), uuid.New(), uuid.New(), time.Now().UTC().Truncate(time.Millisecond)
		for _, id := range []uuid.UUID{store, other} {
			require.NoError(t, exec(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES ($1, 's', $2, 'u', 'XAF', 'CM', '{}', '[]', $3, $3)`, id, id.String(), now))
		}
		require.NoError(t, exec(`INSERT INTO payment_links (id, store_id, code, url, title, pricing, created_at, updated_at)
 VALUES ($1, $2, 'c', 'u', 't', 'OPEN', $3, $3)`, link, store, now))
		require.NoError(t, exec(`INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, 'order.paid', $3, $4)`,
			event, store, []byte("{}"), now))
		insertOrder := func(status string, at time.Time, customer uuid.UUID) uuid.UUID {
			order := uuid.New()
			require.NoError(t, exec(`INSERT INTO orders (id, store_id, reference, status, amount, platform_fee_percent, customer_id, payment_link_id, created_at, updated_at)
 VALUES ($1, $2, $3, $4, 5, 0, $5, $6, $7, $7)`, order, store, order.String(), status, customer, link, at))
			require.NoError(t, exec(`INSERT INTO order_items (id, store_id, order_id, position, product_id, type, title, unit_amount, quantity)
 VALUES ($1, $2, $3, 0, $1, 'FILE', 't', 5, 1)`, uuid.New(), store, order))
			return order
		}
		insertCustomer := func(at time.Time) uuid.UUID {
			customer := uuid.New()
			require.NoError(t, exec(
				`INSERT INTO customers (id, store_id, email, search, created_at, updated_at) VALUES ($1, $2, $3, '', $4, $4)`,
				customer, store, customer.String(), at))
			return customer
		}
		before := time.Date(1969, 12, 30, 23, 59, 59, 0, time.UTC)
		for n := range 40 {
			at := now.AddDate(0, 0, -n)
			insertOrder([]string{"PAID", "PENDING"}[n%2], at, insertCustomer(at))
		}
		insertCustomer(before)

		require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
		require.Equal(t, 40, dbtest.Count(t, d, "order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = "+
			"o.customer_id"))
		require.Equal(t, 1, dbtest.Count(t, d, "events WHERE id = $1 AND request_id IS NULL", event))
		customer := insertCustomer(now)
		insertOrder("PAID", now, customer)
		for _, kind := range counts.Kinds() {
			wrong, err := counts.New(d).Mismatches(t.Context(), store, kind)
			require.NoError(t, err)
			require.Zero(t, wrong, kind)
		}
		require.Equal(t, 1, dbtest.Count(t, d, "row_counts WHERE kind = 'customers' AND days = 1 AND first_day = -2 AND total = 1"))
		if d.Dialect() == entdialect.Postgres {
			require.ErrorContains(t, exec("UPDATE orders SET store_id = $1", other), "foreign key",
				"an order refers to rows of its own store")
		}
	})
}

func TestANewerSchemaIsCurrentForAnOlderBinary(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		_, err := d.Writer().ExecContext(ctx,
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, $2)", 90001, true)
		require.NoError(t, err)
		current, err := d.Current(ctx)
		require.NoError(t, err)
		require.True(t, current)
		require.NoError(t, d.Migrate(ctx, func(m db.Migration) { t.Errorf("applied %d", m.Version) }))
	})
}

func TestASearchPathThatMissesTheTablesIsNamed(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.Postgres)
	_, err := open(t, url).Writer().Exec(
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = elsewhere', current_database()); END $$`)
	require.NoError(t, err)
	d := open(t, url)
	_, err = d.Current(t.Context())
	require.ErrorIs(t, err, db.ErrSearchPath)
	require.ErrorContains(t, err, "it is elsewhere, and they are in public")
	_, err = d.Reader().Exec("SELECT 1 FROM stores")
	require.True(t, db.IsUnreachable(err), "%v", err)
}

func TestAnOlderSchemaIsNotCurrent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		_, err := d.Writer().ExecContext(ctx, "DELETE FROM goose_db_version WHERE version_id = $1", 1)
		require.NoError(t, err)
		current, err := d.Current(ctx)
		require.NoError(t, err)
		require.False(t, current)
	})
}

// PostgreSQL's own error says only that permission is denied.
func TestMigrateByAnotherThanTheOwnerSaysWhatToDo(t *testing.T) {
	t.Parallel()
	owners := dbtest.EmptyURL(t, dbtest.Postgres)
	owner := open(t, owners)
	name, password := "other_"+strings.ReplaceAll(uuid.NewString(), "-", ""), uuid.NewString()
	_, err := owner.Writer().Exec("CREATE ROLE " + name + " LOGIN PASSWORD '" + password + "'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := owner.Writer().Exec("DROP ROLE " + name)
		require.NoError(t, err)
	})
	others, err := url.Parse(owners)
	require.NoError(t, err)
	others.User = url.UserPassword(name, password)
	other, err := hook.Open(t.Context(), db.Config{URL: others.String()})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	require.ErrorContains(t, other.Migrate(t.Context(), func(db.Migration) {}), "connect as the owner of the database")
}

// It is refused before the first statement, with what to do.
func TestADatabaseThatCannotBeMigratedIsRefusedBeforehand(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "the databases are made by hand")
	for _, encoding := range []string{"SQL_ASCII", "LATIN1"} {
		address := dbtest.EmptyURL(t, dbtest.Postgres)
		u, err := url.Parse(address)
		require.NoError(t, err)
		name := strings.TrimPrefix(u.Path, "/") + strings.ToLower(encoding[:3])
		maker := open(t, address).Writer()
		_, err = maker.Exec("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING '" + encoding + "' LC_COLLATE 'C' LC_CTYPE 'C'")
		require.NoError(t, err)
		t.Cleanup(func() {
			_, err := maker.Exec("DROP DATABASE " + name + " WITH (FORCE)")
			require.NoError(t, err)
		})
		u.Path = "/" + name
		d := open(t, u.String())
		err = d.Migrate(t.Context(), func(m db.Migration) { t.Errorf("applied %d", m.Version) })
		require.ErrorContains(t, err, "the encoding "+encoding)
		require.ErrorContains(t, err, "ENCODING 'UTF8'")
		require.Equal(t, 0, dbtest.Count(t, d, "pg_class WHERE relname = 'goose_db_version'"))
	}

	address := dbtest.EmptyURL(t, dbtest.Postgres)
	d := open(t, address)
	for _, statement := range []string{"CREATE SCHEMA tools", "CREATE EXTENSION pg_trgm SCHEMA tools"} {
		_, err := d.Writer().Exec(statement)
		require.NoError(t, err)
	}
	err := d.Migrate(t.Context(), func(m db.Migration) { t.Errorf("applied %d", m.Version) })
	require.ErrorContains(t, err, "the extension pg_trgm is in the schema tools")
	require.ErrorContains(t, err, "ALTER EXTENSION pg_trgm SET SCHEMA")
	_, err = d.Writer().Exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, tools', current_database()); END $$`)
	require.NoError(t, err)
	require.NoError(t, open(t, address).Migrate(t.Context(), func(db.Migration) {}))
}

// pg_restore empties the search_path, and with --data-only the triggers that count rows run.
func TestTriggersFindTheirTablesWithoutASearchPath(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	for _, statement := range []string{
		`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES (gen_random_uuid(), 'S', 's', '', 'XAF', 'CM', '{}', '[]', now(), now())`,
		`DO $$ BEGIN
 PERFORM set_config('search_path', '', true);
 INSERT INTO public.customers (id, store_id, email, search, created_at, updated_at)
  SELECT pg_catalog.gen_random_uuid(), id, 'a@example.com', '', created_at, created_at FROM public.stores;
 INSERT INTO public.payment_links (id, store_id, code, url, title, pricing, created_at, updated_at)
  SELECT pg_catalog.gen_random_uuid(), id, 'c', '', 'L', 'OPEN', created_at, created_at FROM public.stores;
 INSERT INTO public.orders (id, store_id, reference, amount, platform_fee_percent, customer_id, created_at, updated_at)
  SELECT pg_catalog.gen_random_uuid(), store_id, 'r', 1, 0, id, created_at, created_at FROM public.customers;
 UPDATE public.orders SET status = 'PAID';
 DELETE FROM public.orders;
END $$`,
	} {
		_, err := d.Writer().Exec(statement)
		require.NoError(t, err)
	}
	require.Equal(t, 6, dbtest.Count(t, d, "row_deltas"))
}
