package db_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

func TestWhoHasTheFileOpenUsesIt(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	used := func() bool {
		t.Helper()
		used, err := db.InUse(t.Context(), url)
		require.NoError(t, err)
		return used
	}
	require.False(t, used())
	s, err := db.Open(t.Context(), db.Config{URL: url})
	require.NoError(t, err)
	require.True(t, used(), "also while it does nothing")
	addStore(t, s, "shop", s.Now())
	require.True(t, used())
	addStore(t, s, "other", s.Now()) // whom the question disturbed in nothing
	require.NoError(t, s.Close())
	require.False(t, used())
	again := open(t, url)
	require.Equal(t, 2, again.Client().Store.Query().CountX(t.Context()))

	missing := filepath.Join(t.TempDir(), "missing.db")
	found, err := db.InUse(t.Context(), "sqlite:"+missing)
	require.NoError(t, err)
	require.False(t, found)
	_, err = os.Stat(missing)
	require.ErrorIs(t, err, os.ErrNotExist, "it makes no file")
}
