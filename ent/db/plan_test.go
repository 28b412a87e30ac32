package db_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// SQLite must not read all rows of a store. For that, the migrations tell it that a store has many rows, for each index that
// begins with store_id.
func TestSQLiteFindsRowsByTheirIDs(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	texts := func(query string, args ...any) (found []string) {
		for row := range db.Rows(t.Context(), d.Reader(), query, args...) {
			var text string
			require.NoError(t, row.Scan(&text))
			found = append(found, text)
		}
		return found
	}
	require.Empty(t, texts(`SELECT i.name FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
 WHERE t.type = 'table' AND c.seqno = 0 AND c.name = 'store_id' AND i.name NOT IN (SELECT idx FROM sqlite_stat1)`))
	tables := texts(`SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
 AND c.name IN ('id', 'store_id') GROUP BY t.name HAVING count(*) = 2`)
	require.Subset(t, tables, []string{"products", "customers", "orders", "order_items", "events", "deliveries"})
	for _, table := range tables {
		for _, ids := range []string{"SELECT value FROM json_each('[]')", "SELECT id FROM " + table + " WHERE store_id = 's' LIMIT 50",
			"'1'" + strings.Repeat(", '2'", 99)} {
			rows, err := d.Reader().Query("EXPLAIN QUERY PLAN SELECT * FROM " + table + " WHERE store_id = 's' AND id IN (" + ids + ")")
			require.NoError(t, err)
			require.True(t, rows.Next())
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			require.NoError(t, rows.Close())
			require.Regexp(t, `^SEARCH `+table+` USING INDEX \S+ \(id=\?\)`, step)
		}
	}
}
