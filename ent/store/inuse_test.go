package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/store"
	"go.storefront.example/ent/store/storetest"
)

func TestWhoHasTheFileOpenUsesIt(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t, storetest.SQLite)
	used := func() bool {
		t.Helper()
		used, err := store.InUse(t.Context(), url)
		require.NoError(t, err)
		return used
	}
	require.False(t, used())
	s, err := store.Open(t.Context(), store.Config{URL: url})
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
	found, err := store.InUse(t.Context(), "sqlite:"+missing)
	require.NoError(t, err)
	require.False(t, found)
	_, err = os.Stat(missing)
	require.ErrorIs(t, err, os.ErrNotExist, "it makes no file")
}
