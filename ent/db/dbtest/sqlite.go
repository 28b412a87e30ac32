package dbtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
)

const fileName = "storefront.db"

// emptyFile returns the URL of an empty file, which all commands except migrate and dev require.
func emptyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fileName)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return "sqlite:" + path
}

// migratedFile copies the template, which is faster than migrating.
func migratedFile(t testing.TB) string {
	t.Helper()
	content, err := sqliteTemplate()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), fileName)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return "sqlite:" + path
}

var sqliteTemplate = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "dbtest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, fileName)
	if err := migrate("sqlite:" + path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migrate closes the database, so that on SQLite everything is in one file.
func migrate(url string) error {
	ctx := context.Background()
	d, err := hook.Open(ctx, db.Config{URL: url})
	if err != nil {
		return err
	}
	err = d.Migrate(ctx, func(db.Migration) {})
	return errors.Join(err, d.Close())
}
