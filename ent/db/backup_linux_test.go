package db_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

// FAT and some network shares have no hard links.
func TestBackupWithoutHardLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	between := func() {}
	d := dbtest.New(t, dbtest.SQLite, db.Config{Observe: func(query string) {
		if strings.HasPrefix(query, "VACUUM") {
			between()
		}
	}})
	var (
		link, first, second error
		bytes               int64
	)
	dbtest.WithoutLinks(t, func() {
		link = os.Link(folder, path)
		bytes, first = d.Backup(t.Context(), path, nil)
		_ = os.Rename(path, path+".kept")
		between = func() { _ = os.WriteFile(path, []byte("mine"), 0o600) }
		_, second = d.Backup(t.Context(), path, nil)
	})
	require.ErrorIs(t, link, unix.EPERM)
	require.NoError(t, first)
	require.ErrorIs(t, second, fs.ErrExist, "another process made a file of this name meanwhile")
	mine, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(mine))
	info, err := os.Stat(path + ".kept")
	require.NoError(t, err)
	require.Equal(t, info.Size(), bytes)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing else is left behind")
	copied, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + path + ".kept"})
	require.NoError(t, err)
	defer copied.Close()
	current, err := copied.Current(t.Context())
	require.NoError(t, err)
	require.True(t, current)
}
