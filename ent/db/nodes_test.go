package db_test

import (
	"context"
	"net/url"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
)

func withStore(store uuid.UUID) context.Context {
	return tenant.With(context.Background(), tenant.Store{ID: store}, tenant.Actor{})
}

func TestAStoreIsAskedForOnTheNodeThatHasIt(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	d := dbtest.New(t, dbtest.Postgres, db.Config{MaxConns: 4})
	asked := map[string]int{}
	for range 40 {
		store := uuid.New()
		var owner, port int
		require.NoError(t, d.Reader().QueryRow(`SELECT nodeport FROM pg_dist_shard_placement
 WHERE shardid = get_shard_id_for_distribution_column('orders', $1::uuid)`, store).Scan(&owner))
		require.NoError(t, d.ForStore(withStore(store)).Reader().QueryRow("SELECT inet_server_port()").Scan(&port))
		require.Equal(t, owner, port, store)
		asked[strconv.Itoa(port)]++
	}
	require.Len(t, asked, 2, "the workers")
}

func TestOnOneDatabaseEachStoreIsThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		dbtest.OnePostgres(t, "it is about one")
		require.Same(t, d, d.ForStore(withStore(uuid.New())))
	})
}

// Citus 13.2.1, 13.2.2 and 14.0 leak memory at each execution of a generic plan, so connections to nodes use custom plans only.
func TestANodeKeepsNothingOfAnExecution(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	d := dbtest.New(t, dbtest.Postgres, db.Config{Settings: map[string]string{"enable_seqscan": "off"}})
	store := uuid.New()
	conn, err := d.ForStore(withStore(store)).Writer().Conn(t.Context())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.Equal(t, "off", textOf(t, conn, "SELECT current_setting('enable_seqscan')"), "settings hold beside the node's own")
	keepsNothing := func(statement string, args func() []any) {
		t.Helper()
		execute := func(times int) (memory int) {
			for range times {
				_, err := conn.ExecContext(t.Context(), statement, args()...)
				require.NoError(t, err)
			}
			memory, err := strconv.Atoi(textOf(t, conn, "SELECT sum(total_bytes) FROM pg_backend_memory_contexts"))
			require.NoError(t, err)
			return memory
		}
		before := execute(10)
		require.Less(t, execute(300)-before, 1<<20, statement)
	}
	one := func() []any { return []any{store, uuid.New()} }
	keepsNothing("SELECT name FROM customers WHERE store_id = $1 AND id = $2", one)
	keepsNothing(`INSERT INTO idempotency_keys (store_id, id, operation, key, request, answer, created_at)
 VALUES ($1, $2, '', ($2::uuid)::text, '', '', '2026-11-24')`, one)

	// Test plan_cache_mode = auto as well, because the coordinator runs triggers' statements without force_custom_plan.
	_, err = conn.ExecContext(t.Context(), "SET plan_cache_mode = auto")
	require.NoError(t, err)
	keepsNothing(`INSERT INTO customers (store_id, id, name, email, search, created_at, updated_at)
 VALUES ('`+store.String()+"', gen_random_uuid(), '', gen_random_uuid() || '@example.com', '', now(), now())", func() []any { return nil })
}

func TestTheURLMayLeavePlansToCitus(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	address := dbtest.URL(t, dbtest.Postgres)
	const mode = "SELECT current_setting('plan_cache_mode')"
	store := uuid.New()
	for set, want := range map[string]string{"": "force_custom_plan", "auto": "auto"} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		if q := u.Query(); set != "" {
			q.Set("plan_cache_mode", set)
			u.RawQuery = q.Encode()
		}
		d, err := hook.Open(t.Context(), db.Config{URL: u.String(), MaxConns: 2})
		require.NoError(t, err)
		require.Equal(t, want, textOf(t, d.ForStore(withStore(store)).Reader(), mode))
		require.Equal(t, "auto", textOf(t, d.Reader(), mode), "the coordinator's")
		require.NoError(t, d.Close())
	}
}

func textOf(t *testing.T, q db.Querier, query string) (text string) {
	t.Helper()
	for row := range db.Rows(t.Context(), q, query) {
		require.NoError(t, row.Scan(&text))
	}
	return text
}
