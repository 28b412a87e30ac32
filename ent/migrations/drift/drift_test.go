//go:build atlas

package drift_test

import (
	"testing"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/migrations/drift"
)

// A rebuilt table would lose its triggers and the store_id in its keys.
func TestAColumnIsAddedToTheTableThatIsThere(t *testing.T) {
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		missing, err := drift.Missing(t.Context(), d)
		require.NoError(t, err)
		require.Empty(t, missing)
		if d.Dialect() == dialect.SQLite { // PostgreSQL drops the index with its column
			_, err = d.Writer().ExecContext(t.Context(), "DROP INDEX store_delete_at")
			require.NoError(t, err)
		}
		for table, column := range map[string]string{"products": "description", "orders": "note", "stores": "delete_at"} {
			_, err := d.Writer().ExecContext(t.Context(), "ALTER TABLE "+table+" DROP COLUMN "+column)
			require.NoError(t, err)
		}
		missing, err = drift.Missing(t.Context(), d)
		require.NoError(t, err)
		require.Regexp(t, "(?m)^ALTER TABLE .orders. ADD COLUMN .note. ", missing)
		require.Regexp(t, "(?m)^ALTER TABLE .products. ADD COLUMN .description. .*DEFAULT ''", missing)
		require.Regexp(t, "(?m)^ALTER TABLE .stores. ADD COLUMN .delete_at. ", missing)
		require.Regexp(t, "(?m)^CREATE INDEX .store_delete_at. ", missing)
		_, err = d.Writer().ExecContext(t.Context(), missing)
		require.NoError(t, err, missing)
	})
}

// A person must write that migration.
func TestATableThatWouldBeBuiltAnewIsNamed(t *testing.T) {
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	_, err := d.Writer().ExecContext(t.Context(), "PRAGMA writable_schema = ON; UPDATE sqlite_schema "+
		"SET sql = replace(sql, '`note` text', '`note` integer') WHERE name = 'orders'; PRAGMA writable_schema = RESET")
	require.NoError(t, err)
	_, err = drift.Missing(t.Context(), d)
	require.ErrorContains(t, err, "the table orders would be built anew")
}
