//go:build atlas

package db_test

import (
	"testing"

	entdialect "entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/migrations/drift"
)

func TestMigrationsMakeTheTablesOfTheSchema(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		if d.Dialect() == entdialect.Postgres {
			dbtest.OnePostgres(t, "shard apply drops the keys to stores")
		}
		requireTablesOfSchema(t, d)
	})
}

func requireTablesOfSchema(t *testing.T, d *db.DB) {
	t.Helper()
	missing, err := drift.Missing(t.Context(), d)
	require.NoError(t, err)
	require.Empty(t, missing, "ent/schema has changed without a migration")
}
