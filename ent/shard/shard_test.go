package shard_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/migrations"
	"go.storefront.example/ent/shard"
)

// fill writes stores with a customer and three orders each, without the hooks, in the form of an older release.
func fill(t *testing.T, d *db.DB, stores int) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 SELECT gen_random_uuid(), 's' || n, 's' || n, '', 'XAF', 'CM', '{}', '[]', now(), now() FROM generate_series(1, $1::int) n`,
		`INSERT INTO customers (id, store_id, name, email, search, created_at, updated_at)
 SELECT gen_random_uuid(), id, '', 'a@example.com', '', now(), now() FROM stores WHERE $1 > 0`,
		`INSERT INTO orders (id, store_id, reference, amount, platform_fee_percent, customer_id, created_at, updated_at)
 SELECT gen_random_uuid(), store_id, n::text, 1, 0, id, now(), now() FROM customers, generate_series(1, 3) n WHERE $1 > 0`,
		`INSERT INTO order_items (id, store_id, position, product_id, type, title, unit_amount, quantity, order_id)
 SELECT gen_random_uuid(), store_id, 0, gen_random_uuid(), 'FILE', '', 1, 1, id FROM orders WHERE $1 > 0`,
	} {
		_, err := d.Writer().Exec(statement, stores)
		require.NoError(t, err, statement)
	}
}

func openCluster(t *testing.T, address string) (*shard.Cluster, *db.DB) {
	t.Helper()
	d, err := hook.Open(t.Context(), db.Config{URL: address, MaxConns: 4, Settings: map[string]string{"application_name": "storefront shard"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	cluster, err := shard.New(d)
	require.NoError(t, err)
	return cluster, d
}

func TestOnlyPostgresIsSharded(t *testing.T) {
	t.Parallel()
	_, err := shard.New(dbtest.New(t, dbtest.SQLite, db.Config{}))
	require.ErrorIs(t, err, shard.ErrNotPostgres)
}

// Apply fails while an obstacle is left: an old schema, a missing extension, or a running server. It keeps rows, triggers and
// foreign keys.
func TestApplyDistributesTheRowsThatAreThere(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	address := dbtest.EmptyURL(t, dbtest.Postgres)
	cluster, d := openCluster(t, address)
	apply := func() (steps []string, tables int, err error) {
		tables, err = cluster.Apply(t.Context(), func(step string) { steps = append(steps, step) })
		return steps, tables, err
	}
	_, _, err := apply()
	require.ErrorContains(t, err, "the schema is not current: run storefront migrate up")
	// Store the rows under the schema of release 2026-09.
	files, err := migrations.FS(dialect.Postgres)
	require.NoError(t, err)
	provider, err := goose.NewProvider(goose.DialectPostgres, d.Writer(), files, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 1)
	require.NoError(t, err)
	fill(t, d, 20)
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
	_, _, err = apply()
	require.ErrorContains(t, err, "CREATE EXTENSION citus")
	require.NoError(t, dbtest.AddNodes(t.Context(), address))
	sharded, err := cluster.Sharded(t.Context())
	require.NoError(t, err)
	require.False(t, sharded)
	_, err = cluster.Status(t.Context())
	require.ErrorIs(t, err, shard.ErrNotSharded)

	server, err := hook.Open(t.Context(), db.Config{URL: address, MaxConns: 1})
	require.NoError(t, err)
	_, _, err = apply()
	require.ErrorIs(t, err, shard.ErrNotReady)
	require.ErrorContains(t, err, "servers and workers must be stopped")
	require.NoError(t, server.Close())
	require.Eventually(t, func() bool { // PostgreSQL ends the closed connections a little later
		plan, err := cluster.Plan(t.Context())
		require.NoError(t, err)
		return len(plan.Obstacles) == 0
	}, time.Minute, 10*time.Millisecond)

	plan, err := cluster.Plan(t.Context())
	require.NoError(t, err)
	var keys []string
	for _, k := range plan.Keys {
		if k.Definition != "" {
			keys = append(keys, k.Name)
		}
	}
	require.Equal(t, shard.ForeignKeys(), keys)
	steps, tables, err := apply()
	require.NoError(t, err)
	require.Len(t, shard.Tables(), tables)
	require.Equal(t, "commit", steps[len(steps)-1])
	again, tables, err := apply()
	require.NoError(t, err)
	require.Empty(t, again)
	require.Zero(t, tables)

	for from, want := range map[string]int{"customers": 20, "orders": 60, "order_items": 60, "row_deltas": 0, "row_counts": 80} {
		require.Equal(t, want, dbtest.Count(t, d, from), from)
	}
	plan, err = cluster.Plan(t.Context())
	require.NoError(t, err)
	require.Empty(t, plan.Pending())
	for _, table := range shard.Tables() {
		require.Zero(t, dbtest.Count(t, d, "(SELECT 1 WHERE pg_relation_size('"+table+"') > 0) x"), "the coordinator keeps no copy of %s", table)
	}
	// An order that refers to another store's customer is refused. An order of the store's own customer is counted.
	insert := `INSERT INTO orders (id, store_id, reference, amount, platform_fee_percent, customer_id, created_at, updated_at)
 VALUES (gen_random_uuid(), $1, 'new', 1, 0, $2, now(), now())`
	var store, customer uuid.UUID
	require.NoError(t, d.Reader().QueryRow("SELECT store_id, id FROM customers LIMIT 1").Scan(&store, &customer))
	_, err = d.Writer().Exec(insert, uuid.New(), customer)
	require.ErrorContains(t, err, "orders_customers_orders")
	_, err = d.Writer().Exec(insert, store, customer)
	require.NoError(t, err)
	require.Equal(t, 1, dbtest.Count(t, d, "row_deltas"))

	// Old migrations are not repeated, and a new one works in one transaction.
	require.NoError(t, d.Migrate(t.Context(), func(m db.Migration) { t.Errorf("%s is applied again", m.Name) }))
	later := fstest.MapFS{"00099_later.sql": {Data: []byte(migrations.Header + `SET LOCAL lock_timeout = '5s';
CREATE TABLE "coupons" ("id" uuid NOT NULL, "store_id" uuid NOT NULL, PRIMARY KEY ("id", "store_id"));
ALTER TABLE "stores" ADD COLUMN "motto" character varying NULL;
ALTER TABLE "orders" ADD COLUMN "coupon_id" uuid NULL;
ALTER TABLE "orders" ADD COLUMN "weight" bigint NOT NULL DEFAULT 7;
CREATE INDEX "order_store_id_coupon_id" ON "orders" ("store_id", "coupon_id");
`)}}
	provider, err = goose.NewProvider(goose.DialectPostgres, d.Writer(), later, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	require.Equal(t, 61, dbtest.Count(t, d, "orders WHERE weight = 7 AND coupon_id IS NULL"))
}

// Objects that an operator has removed or moved by hand.
func TestWhatIsMissingOrMisplacedIsNamed(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	cluster, d := openCluster(t, dbtest.URL(t, dbtest.Postgres))
	named := func() []string {
		missing, err := cluster.MissingKeysAndTriggers(t.Context())
		require.NoError(t, err)
		misplaced, err := cluster.MisplacedTables(t.Context())
		require.NoError(t, err)
		return append(missing, misplaced...)
	}
	require.Empty(t, named())
	for _, statement := range []string{
		"ALTER TABLE orders DROP CONSTRAINT orders_customers_orders", "DROP TRIGGER commit_in_two_phases ON webhooks",
		"SELECT undistribute_table('outbox')", "SELECT create_reference_table('tallies')",
	} {
		_, err := d.Writer().Exec(statement)
		require.NoError(t, err, statement)
	}
	require.Equal(t, []string{
		"the key orders_customers_orders", "the trigger commit_in_two_phases of webhooks",
		"outbox is not distributed by store", "tallies belongs on the coordinator alone",
	}, named())
}

// With all rows and keys.
func TestApplyThatIsKilledLeavesTheDatabaseAsItWas(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	address := dbtest.EmptyURL(t, dbtest.Postgres)
	cluster, d := openCluster(t, address)
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
	fill(t, d, 5)
	require.NoError(t, dbtest.AddNodes(t.Context(), address))
	keys := dbtest.Count(t, d, "pg_constraint WHERE contype = 'f'")
	for _, at := range []string{"distribute orders", "add the key", "free the coordinator's copy", "commit"} {
		ctx, kill := context.WithCancel(t.Context())
		_, err := cluster.Apply(ctx, func(step string) {
			if strings.HasPrefix(step, at) {
				kill()
			}
		})
		require.Error(t, err, at)
		require.Equal(t, keys, dbtest.Count(t, d, "pg_constraint WHERE contype = 'f'"), at)
		require.Zero(t, dbtest.Count(t, d, "pg_dist_partition"), at)
		require.Equal(t, 15, dbtest.Count(t, d, "orders"), at)
	}
	_, err := cluster.Apply(t.Context(), func(string) {})
	require.NoError(t, err)
	require.Equal(t, 15, dbtest.Count(t, d, "orders"))
}

// The store keeps its rows, and isolating it again does nothing.
func TestIsolateGivesAStoreAShardOfItsOwn(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	cluster, d := openCluster(t, dbtest.URL(t, dbtest.Postgres))
	fill(t, d, 12)
	_, err := d.Writer().Exec(`INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
 SELECT id, 'orders', 32, 0, '', '', substr(slug, 2)::int FROM stores`)
	require.NoError(t, err)
	_, err = d.Writer().Exec(`WITH made AS (
  INSERT INTO api_keys (id, store_id, name, fingerprint, hint, scopes, expires_at, created_at)
  SELECT gen_random_uuid(), id, slug, convert_to(slug, 'UTF8'), 'x', '[]', now(), now() FROM stores RETURNING id, name)
 INSERT INTO rate_counters (id, minute, count)
 SELECT id, floor(extract(epoch FROM now()) / 60) - CASE name WHEN 's3' THEN 9 ELSE 0 END, 20 - substr(name, 2)::int FROM made`)
	require.NoError(t, err)
	before, err := cluster.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, before.Hottest, 10)
	require.Equal(t, []any{"s1", int64(19), "s4"}, []any{before.Hottest[0].Slug, before.Hottest[0].Requests, before.Hottest[2].Slug})
	require.Len(t, before.Largest, 10)
	hot := before.Largest[0]
	require.Equal(t, "s12", hot.Slug)
	require.False(t, hot.Alone)
	require.Empty(t, before.Moves)
	stores, workers := 0, 0
	for _, n := range before.Nodes {
		require.True(t, n.Active)
		stores += n.Stores
		if !n.Coordinator {
			workers++
			require.Positive(t, n.Bytes)
			require.Positive(t, n.Shards)
		}
	}
	require.Equal(t, 12, stores)
	require.Equal(t, len(dbtest.Citus())-1, workers)

	for _, want := range []bool{true, false} {
		done, err := cluster.Isolate(t.Context(), hot.ID)
		require.NoError(t, err)
		require.Equal(t, want, done)
	}
	after, err := cluster.Status(t.Context())
	require.NoError(t, err)
	hot.Alone = true
	require.Equal(t, hot, after.Largest[0])
	require.Equal(t, 3, dbtest.Count(t, d, "orders WHERE store_id = $1", hot.ID))
	require.Equal(t, 36, dbtest.Count(t, d, "orders"))
}
