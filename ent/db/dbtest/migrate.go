package dbtest

import (
	"testing"

	"entgo.io/ent/dialect"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/migrations"
)

// MigrateTo applies the migrations up to this version, such as 1, the schema of release 2026-09.
func MigrateTo(t testing.TB, d *db.DB, version int64) {
	t.Helper()
	files, err := migrations.FS(d.Dialect())
	require.NoError(t, err)
	name := goose.DialectPostgres
	if d.Dialect() == dialect.SQLite {
		name = goose.DialectSQLite3
	}
	provider, err := goose.NewProvider(name, d.Writer(), files, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), version)
	require.NoError(t, err)
}
