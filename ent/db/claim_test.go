package db_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
)

func TestOneServerClaimsASQLiteFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	url := "sqlite:" + filepath.Join(folder, "storefront.db")
	first, err := db.ClaimServer(url)
	require.NoError(t, err)
	_, err = db.ClaimServer("sqlite:" + filepath.Join(folder, ".", "x", "..", "storefront.db"))
	require.ErrorIs(t, err, db.ErrClaimed)
	require.NotContains(t, err.Error(), "\n")
	require.ErrorContains(t, err, folder)
	isClaimed := func() bool {
		claimed, err := db.IsClaimed(filepath.Join(folder, "storefront.db"))
		require.NoError(t, err)
		return claimed
	}
	require.True(t, isClaimed())
	open(t, url) // commands and workers can still open the claimed file
	other, err := db.ClaimServer(url + "2")
	require.NoError(t, err, "another file")
	require.NoError(t, other.Release())
	require.NoError(t, first.Release())
	require.False(t, isClaimed())
	never, err := db.IsClaimed(filepath.Join(folder, "other.db"))
	require.NoError(t, err)
	require.False(t, never)
	require.NoFileExists(t, filepath.Join(folder, "other.db.lock"))
	again, err := db.ClaimServer(url)
	require.NoError(t, err)
	require.NoError(t, again.Release())
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(folder, "storefront.db.lock"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestALinkToASQLiteFileIsThatFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("making a link needs a right there")
	}
	folder := t.TempDir()
	file, link := filepath.Join(folder, "storefront.db"), filepath.Join(folder, "link.db")
	require.NoError(t, os.Symlink(file, link))
	open(t, "sqlite:"+link) // creates the file to which the link leads
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "customers' data is nobody else's")

	first, err := db.ClaimServer("sqlite:" + file)
	require.NoError(t, err)
	_, err = db.ClaimServer("sqlite:" + link)
	require.ErrorIs(t, err, db.ErrClaimed)
	claimed, err := db.IsClaimed(link)
	require.NoError(t, err)
	require.True(t, claimed)
	require.NoError(t, first.Release())
}

// It would get past the claim, whose lock is beside the file's name, and past SQLite's log.
func TestAFileWithHardLinksIsNotOpened(t *testing.T) {
	t.Parallel()
	file, link := filepath.Join(t.TempDir(), "storefront.db"), filepath.Join(t.TempDir(), "link.db")
	open(t, "sqlite:"+file)
	require.NoError(t, os.Link(file, link))
	for _, name := range []string{link, file} {
		_, err := db.Open(t.Context(), db.Config{URL: "sqlite:" + name}, nil)
		require.ErrorIs(t, err, db.ErrLinked)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, os.Remove(link))
	open(t, "sqlite:"+file)
}

func TestAnyNumberMayServePostgreSQL(t *testing.T) {
	t.Parallel()
	for range 2 {
		c, err := db.ClaimServer("postgres://u:hunter2@127.0.0.1:1/db")
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Release()) }()
	}
}

func TestAFolderInWhichNothingCanBeClaimed(t *testing.T) {
	t.Parallel()
	_, err := db.ClaimServer("sqlite:" + filepath.Join(t.TempDir(), "missing", "storefront.db"))
	require.ErrorContains(t, err, "claim the database: ")
	require.ErrorContains(t, err, "storefront.db.lock")
	require.NotContains(t, err.Error(), "\n")
}
