package db_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/shard"
)

// inOnePlace has the tables that are not distributed by store, and why.
var inOnePlace = map[string]string{
	"stores": "small, read with every key, and changed by the operator alone; its slug is unique " +
		"among all stores",
	"api_keys": "a request names a key and no store, so a key is found by its fingerprint; ten active ones a store " +
		"at most",
	"rate_counters":    "one row for each key in use, counted by the statement that looks the key up",
	"address_counters": "a row belongs to a client's address, not to a store",
	"sessions":         "a cookie names no store, so a session is found by its fingerprint; members who are signed in",
	"sign_in_links":    "a link names no store, so it is found by its fingerprint; each lasts minutes",
	"webhooks":         "the workers' queue: five a store, read with the deliveries of many stores at once",
	"deliveries":       "the workers' queue: workers lock what is due across stores, passing what others have locked",
	"finished_deliveries": "the workers' queue: kept for the retention, written by the statements that end deliveries of " +
		"many stores",
	"resends":          "the workers' queue: found across stores",
	"forgettings":      "one row for each customer forgotten; workers look for the unfinished ones across stores",
	"refused_requests": "kept for seven days, written for many stores at once",
	"tallies":          "kept for days, written for many stores at once",
	"clock_marks":      "one row",
	"goose_db_version": "one row for each migration",
}

// withoutStore has the unique indexes and primary keys that do not contain the store, and why.
var withoutStore = map[string]string{
	"api_keys_pkey":          "not distributed: see api_keys",
	"apikey_fingerprint":     "not distributed: see api_keys",
	"sessions_pkey":          "not distributed: see sessions",
	"session_fingerprint":    "not distributed: see sessions",
	"sign_in_links_pkey":     "not distributed: see sign_in_links",
	"signinlink_fingerprint": "not distributed: see sign_in_links",
}

// Citus requires store_id in each unique and foreign key of a distributed table.
func TestKeysHaveTheirStore(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.Postgres, db.Config{})
	names := func(relation, numbers string) string {
		return "SELECT array_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = " + relation +
			" AND a.attnum = ANY (" + numbers + ")"
	}

	distributed := shard.Tables()
	owned := map[string]bool{}
	each(t, d, `SELECT t.table_name, EXISTS (SELECT FROM information_schema.columns c
  WHERE c.table_name = t.table_name AND c.table_schema = t.table_schema AND c.column_name = 'store_id' AND c.is_nullable = 'NO')
 FROM information_schema.tables t JOIN pg_class r ON r.oid = to_regclass(quote_ident(t.table_name))
 WHERE t.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND NOT r.relispartition
  AND t.table_name <> 'two_phases'`, func(rows *sql.Rows) error {
		var table string
		var hasStore bool
		err := rows.Scan(&table, &hasStore)
		owned[table] = hasStore
		_, excepted := inOnePlace[table]
		require.NotEqual(t, excepted, slices.Contains(distributed, table), "%s is either distributed or named as what is not", table)
		return err
	})
	require.Len(t, owned, len(distributed)+len(inOnePlace), "each table named exists")
	for _, table := range distributed {
		require.True(t, owned[table], "%s has no store_id that is never null", table)
	}

	met := map[string]bool{}
	each(t, d, `SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text, i.indisvalid, (`+names("i.indrelid", "i.indkey")+`)
 FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid JOIN pg_namespace n ON n.oid = r.relnamespace
 WHERE n.nspname = 'public' AND i.indisunique AND NOT r.relispartition`, func(rows *sql.Rows) error {
		var table, index string
		var valid bool
		var in pq.StringArray
		err := rows.Scan(&table, &index, &valid, &in)
		require.True(t, valid, "%s is not valid", index)
		if owned[table] && !slices.Contains(in, "store_id") {
			met[index] = true
			require.NotEmpty(t, withoutStore[index], "%s of %s lacks the store: %v", index, table, in)
			require.NotContains(t, distributed, table, index)
		}
		return err
	})
	require.Len(t, met, len(withoutStore), "each exception exists")

	references := 0
	each(t, d, `SELECT f.conname, f.convalidated, f.conrelid::regclass::text, f.confrelid::regclass::text,
  (`+names("f.conrelid", "f.conkey")+`), (`+names("f.confrelid", "f.confkey")+`)
 FROM pg_constraint f WHERE f.contype = 'f' AND f.connamespace = 'public'::regnamespace`, func(rows *sql.Rows) error {
		var name, from, to string
		var valid bool
		var columns, refers pq.StringArray
		err := rows.Scan(&name, &valid, &from, &to, &columns, &refers)
		references++
		require.True(t, valid, "%s is not validated", name)
		require.Contains(t, columns, "store_id", name)
		if to != "stores" {
			require.Contains(t, refers, "store_id", name)
			require.Equal(t, slices.Contains(distributed, from), slices.Contains(distributed, to), "%s: both are distributed, or neither",
				name)
		}
		return err
	})
	require.NotZero(t, references)
}

// PostgreSQL's partitions have the same conditions as Citus.
func TestTablesCanBeCutByStore(t *testing.T) {
	t.Parallel()
	shards := dbtest.NewShards(t, dbtest.New(t, dbtest.Postgres, db.Config{}))
	require.Empty(t, shards.CrossStoreTables("SELECT * FROM orders WHERE store_id = $1 AND id = $2"))
	require.Equal(t, []string{"customers", "orders"},
		shards.CrossStoreTables("SELECT * FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = $1"))
	require.Equal(t, []string{"orders"}, shards.CrossStoreTables("UPDATE orders SET note = '' WHERE id = $1"))
}

func each(t *testing.T, d *db.DB, query string, row func(*sql.Rows) error) {
	t.Helper()
	rows, err := d.Reader().QueryContext(context.Background(), query)
	require.NoError(t, err, query)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		require.NoError(t, row(rows))
	}
	require.NoError(t, rows.Err())
}
