package postgres_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/lib/pq"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/migrations"
	"go.storefront.example/ent/migrations/postgres"
)

var errDied = errors.New("died")

// mortal opens connections that die after the first change that is made through them. It calls
// before with each change.
type mortal struct {
	driver.Connector
	before func(change string)
}

func (m mortal) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := m.Connector.Connect(ctx)
	return &mortalConn{Conn: inner, before: m.before}, err
}

type mortalConn struct {
	driver.Conn
	before  func(change string)
	changed bool
}

func (c *mortalConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *mortalConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.changed {
		return nil, errDied
	}
	c.before(query)
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	c.changed = err == nil && !strings.HasPrefix(query, "SET statement_timeout")
	return result, err
}

// config has a clock that stands still: which days there are must not depend on when a day ends.
func config(url string, now time.Time) db.Config {
	return db.Config{URL: url, MaxConns: 4, Clock: func() time.Time { return now }}
}

// before opens a database with the migrations before StoreKeys.
func before(t *testing.T, now time.Time) (*db.DB, driver.Connector) {
	t.Helper()
	url := dbtest.EmptyURL(t, dbtest.Postgres)
	connect, err := pq.NewConnector(url)
	require.NoError(t, err)
	files, err := migrations.FS(entdialect.Postgres)
	require.NoError(t, err)
	pool := sql.OpenDB(connect)
	defer func() { require.NoError(t, pool.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, files, goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(goose.NewGoMigration(postgres.StoreKeysVersion, nil, nil)))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), postgres.StoreKeysVersion-1)
	require.NoError(t, err)
	s, err := db.Open(t.Context(), config(url, now))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	dbtest.MakePartitions(t, s)
	return s, connect
}

// keys lists the keys and indexes of a database with their definitions, without the days.
func keys(t *testing.T, s *db.DB) []string {
	t.Helper()
	var list pq.StringArray
	require.NoError(t, s.Reader().QueryRow(`SELECT array_agg(line ORDER BY line) FROM (
 SELECT conrelid::regclass || ' ' || conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid) AS line
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace
 UNION ALL SELECT pg_get_indexdef(indexrelid) || ' ' || indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = 'public'::regnamespace) k`).Scan(&list))
	return list
}

// A migration that dies after each of its changes comes to the same end as one that lives, and a
// release that knows neither writes all the while.
func TestStoreKeysGoOnWhereTheyDied(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, connect := before(t, now)
	exec := func(statement string, args ...any) error {
		_, err := s.Writer().ExecContext(t.Context(), statement, args...)
		return err
	}
	count := func(query string) (n int) {
		require.NoError(t, s.Reader().QueryRow("SELECT count(*) FROM "+query).Scan(&n))
		return n
	}
	store, customer := uuid.New(), uuid.New()
	require.NoError(t, exec(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES ($1, 's', 's', 'https://s.example', 'XAF', 'CM', '{}', '[]', now(), now())`, store))
	require.NoError(t, exec(`INSERT INTO customers (id, store_id, email, search, created_at, updated_at)
 SELECT i, $1, i::text, '', now(), now() FROM unnest(ARRAY[$2::uuid, gen_random_uuid()]) i`, store, customer))
	writes := func() {
		order := uuid.Must(uuid.NewV7())
		require.NoError(t, exec(`INSERT INTO orders (id, store_id, customer_id, reference, amount, platform_fee_percent, created_at, updated_at)
 VALUES ($1::uuid, $2, $3, $1::uuid::text, 5, 0, now(), now())`, order, store, customer))
		require.NoError(t, exec(`INSERT INTO order_items (id, store_id, order_id, position, product_id, type, title, unit_amount, quantity)
 VALUES ($1, $2, $1, 0, $1, 'FILE', 'x', 5, 1)`, order, store))
		require.NoError(t, exec(`INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, 'x', '', now())`, order, store))
	}
	// What an index leaves that was being built when the server stopped.
	require.ErrorContains(t, exec("CREATE UNIQUE INDEX CONCURRENTLY customers_store_key ON customers (store_id)"), "could not create unique index")
	// A day that is made only when the indexes of the others stand.
	makesDay := func(change string) {
		if strings.Contains(change, "LOCK TABLE events ") {
			dbtest.MakePartitions(t, s)
		}
	}
	day := db.Partition{Table: "events", Day: s.Now().Truncate(24*time.Hour).AddDate(0, 0, 9)}.Name()
	require.NoError(t, exec("DROP TABLE "+day))

	deaths := 0
	for held := false; ; deaths++ {
		writes()
		pool := sql.OpenDB(mortal{connect, makesDay})
		ended := make(chan error, 1)
		built := count("pg_index WHERE indexrelid = to_regclass('finished_deliveries_default_store_key')") > 0
		if built && !held {
			held = true
			// Somebody uses a table that is to be locked: the migration waits, and is not waited for.
			tx, err := s.Writer().Begin()
			require.NoError(t, err)
			_, err = tx.Exec("LOCK TABLE orders IN ROW EXCLUSIVE MODE")
			require.NoError(t, err)
			go func() { ended <- postgres.StoreKeys(t.Context(), pool) }()
			for range 30 {
				writes()
				time.Sleep(10 * time.Millisecond)
			}
			require.Empty(t, ended)
			require.NoError(t, tx.Rollback())
		} else {
			ended <- postgres.StoreKeys(t.Context(), pool)
		}
		err := <-ended
		require.NoError(t, pool.Close())
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errDied)
	}
	require.Greater(t, deaths, 60, "a death after each change")
	require.NoError(t, s.Migrate(t.Context(), func(db.Migration) {}))
	fresh := dbtest.NewEmpty(t, dbtest.Postgres, config("", now))
	require.NoError(t, fresh.Migrate(t.Context(), func(db.Migration) {}))
	require.NoError(t, fresh.MakePartitions(t.Context()))
	require.Equal(t, keys(t, fresh), keys(t, s))
	require.Contains(t, strings.Join(keys(t, s), "\n"), day+"_pkey")
	require.Equal(t, count("orders"), count("order_items"))
	require.Equal(t, count("orders"), count("events"))

	// Rows cannot refer to another store's.
	other := uuid.New()
	require.NoError(t, exec(fmt.Sprintf(`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 SELECT '%s', 't', 't', url, currency, country, social_links, unavailable_types, now(), now() FROM stores`, other)))
	err := exec(`INSERT INTO orders (id, store_id, customer_id, reference, amount, platform_fee_percent, created_at, updated_at)
 VALUES ($1, $1, $2, 'r', 5, 0, now(), now())`, other, customer)
	require.ErrorContains(t, err, "orders_customers_orders")
}
