package admin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func ofStore(t *testing.T, d *db.DB, store uuid.UUID) map[string]int {
	t.Helper()
	tables := "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'store_id'"
	if d.Dialect() != dbtest.Postgres {
		tables = "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'store_id'"
	}
	counts := map[string]int{}
	for row := range db.Rows(t.Context(), d.Reader(), tables) {
		var table string
		require.NoError(t, row.Scan(&table))
		counts[table] = dbtest.Count(t, d, table+" WHERE store_id = $1", store)
	}
	return counts
}

// fill gives the store of b rows in every table with store_id, by the API and then by inserts.
func fill(t *testing.T, b shoptest.Bench, orders int) uuid.UUID {
	t.Helper()
	store, err := tenant.StoreOf(b.Ctx)
	require.NoError(t, err)
	p, l := b.Product("P", 5), b.Link(nil)
	for i := range orders {
		o := b.Buy(fmt.Sprintf("c%d@example.com", i), p.GetId(), "")
		if i%10 == 0 {
			b.Buy(fmt.Sprintf("c%d@example.com", i), "", l.GetId())
		}
		_, err := b.MoveOrder(tenant.WithIdempotencyKey(b.Ctx, fmt.Sprint(i)), o.GetId(), "PAID")
		require.NoError(t, err)
	}
	var have map[string]int
	for table, n := range ofStore(t, b.DB, store.ID) {
		if n > 0 || table == "row_deltas" {
			continue
		}
		columns, values := []string{}, []string{}
		query := "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1 AND is_nullable = 'NO'" +
			" AND column_default IS NULL AND is_identity = 'NO'"
		if b.DB.Dialect() != dbtest.Postgres {
			query = "SELECT name, lower(type) FROM pragma_table_info($1) WHERE \"notnull\" AND dflt_value IS NULL"
		}
		for row := range db.Rows(t.Context(), b.DB.Reader(), query, table) {
			var name, kind string
			require.NoError(t, row.Scan(&name, &kind))
			value := "'x'"
			switch {
			case name == "store_id":
				value = "'" + store.ID.String() + "'"
			case kind == "uuid":
				value = "'" + uuid.NewString() + "'"
			case strings.Contains(kind, "time"):
				value = "CURRENT_TIMESTAMP"
			case strings.HasPrefix(kind, "json"):
				value = "'[]'"
			case kind == "boolean" || kind == "bool":
				value = "false"
			case strings.Contains(kind, "int"):
				value = fmt.Sprint(rand.Int32())
			case kind == "bytea":
				value = "sha256('" + uuid.NewString() + "')"
			case kind == "blob":
				value = "randomblob(32)"
			}
			columns, values = append(columns, name), append(values, value)
		}
		_, err := b.DB.Writer().Exec("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" +
			strings.Join(values, ", ") + ")")
		require.NoError(t, err, table)
	}
	have = ofStore(t, b.DB, store.ID)
	delete(have, "row_deltas") // workers delete the deltas that they added up
	for table, n := range have {
		require.NotZero(t, n, "the store has rows of %s", table)
	}
	return store.ID
}

func TestNothingIsLeftOfADeletedStore(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := shoptest.New(t, d, shop.Options{})
		other := b
		other.Ctx = b.NewStore("other")
		gone, stays := fill(t, b, 300), fill(t, other, 20)
		kept := ofStore(t, d, stays)
		_, err := d.Writer().Exec("INSERT INTO rate_counters (id, minute, count) SELECT id, 1, 1 FROM api_keys")
		require.NoError(t, err)
		due, err := erase.DueStores(t.Context(), d)
		require.NoError(t, err)
		require.Empty(t, due)
		order := func(at time.Time) {
			_, err := d.Writer().Exec("UPDATE stores SET delete_at = $1 WHERE id = $2", at, gone)
			require.NoError(t, err)
		}
		order(d.Now().Add(time.Hour))
		due, err = erase.DueStores(t.Context(), d)
		require.NoError(t, err)
		require.Empty(t, due, "the grace is not over")
		order(d.Now().Add(-time.Second))
		due, err = erase.DueStores(t.Context(), d)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{gone}, due)

		// Stop the deletion after 20 ms each time. Each call continues it.
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_ = erase.Store(ctx, d, gone)
			cancel()
		}
		err = erase.Store(t.Context(), d, gone)
		require.NoError(t, err)
		for table, n := range ofStore(t, d, gone) {
			require.Zero(t, n, table)
		}
		require.Zero(t, dbtest.Count(t, d, "stores WHERE id = $1", gone))
		require.Equal(t, kept, ofStore(t, d, stays))
		require.Equal(t, dbtest.Count(t, d, "api_keys"), dbtest.Count(t, d, "rate_counters"), "those of the other's keys are left")
		err = erase.Store(t.Context(), d, gone)
		require.NoError(t, err, "it is gone already")
		due, err = erase.DueStores(t.Context(), d)
		require.NoError(t, err)
		require.False(t, slices.Contains(due, gone))
	})
}
