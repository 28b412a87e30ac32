package db

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/stretchr/testify/require"
)

func TestAMigrationOnSQLiteThatOrphansRowsIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, err := Open(ctx, Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "storefront.db")}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Migrate(ctx, func(Migration) {}))

	db, err := d.migrator()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	inner, err := database.NewStore(database.DialectSQLite3, goose.DefaultTablename)
	require.NoError(t, err)
	versions := sqliteVersions{inner}

	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, versions.Insert(ctx, tx, database.InsertRequest{Version: 90001}))
	_, err = tx.ExecContext(ctx, `INSERT INTO api_keys (id, name, fingerprint, hint, scopes, created_at, store_id)
		VALUES ('k', 'k', x'00', 'h', '[]', 0, 'no such store')`)
	require.NoError(t, err, "foreign keys are off while a migration runs")
	err = versions.Insert(ctx, tx, database.InsertRequest{Version: 90002})
	require.ErrorContains(t, err, "rows of api_keys would refer to missing rows of stores")
	require.NoError(t, tx.Rollback())
}
