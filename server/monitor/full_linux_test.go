package monitor_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

// newDisk mounts a small disk, and returns functions that fill and empty it.
func newDisk(t *testing.T) (folder string, fill, empty func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount the small disk that this test fills")
	}
	folder, err := os.MkdirTemp("", "storefront-disk-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	filler := filepath.Join(folder, "filler")
	return folder, func() {
		f, err := os.Create(filler)
		require.NoError(t, err)
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NoError(t, f.Close())
	}, func() { require.NoError(t, os.Remove(filler)) }
}

func holdsOnAFullDisk(t *testing.T, d *db.DB, fill, empty func()) {
	t.Helper()
	_, err := d.Writer().Exec("CREATE TABLE filler (body text)")
	require.NoError(t, err)
	write := func() error {
		body := make([]byte, 1500) // random, because PostgreSQL compresses other texts
		_, _ = rand.Read(body)
		_, err := d.Writer().Exec("INSERT INTO filler VALUES ($1)", hex.EncodeToString(body))
		return err
	}
	require.Empty(t, refused(t, d))
	fill()
	// The database has reserved space on the disk, into which a few rows still fit.
	for range 5_000 {
		if err = write(); err != nil {
			break
		}
	}
	require.True(t, db.IsUnreachable(err), "%v", err)
	require.Equal(t, "The database cannot be written.", refused(t, d))
	empty()
	require.Empty(t, refused(t, d))
	require.NoError(t, write())
}

func TestAFullDiskIsNotReadyOnSQLite(t *testing.T) {
	t.Parallel()
	folder, fill, empty := newDisk(t)
	d, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + filepath.Join(folder, "storefront.db")})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Migrate(t.Context(), func(db.Migration) {}))
	holdsOnAFullDisk(t, d, fill, empty)
}

func TestAFullDiskIsNotReadyOnPostgreSQL(t *testing.T) {
	t.Parallel()
	folder, fill, empty := newDisk(t)
	server := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{MaxConns: 2})
	var data string
	require.NoError(t, server.Reader().QueryRow("SHOW data_directory").Scan(&data))
	owned, err := os.Stat(data)
	if err != nil {
		t.Skip("the PostgreSQL server is on another machine")
	}
	owner, ok := owned.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NoError(t, os.Chown(folder, int(owner.Uid), int(owner.Gid)))
	space := filepath.Base(folder)
	_, err = server.Writer().Exec(fmt.Sprintf("CREATE TABLESPACE %q LOCATION '%s'", space, folder))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := server.Writer().Exec(fmt.Sprintf("DROP TABLESPACE %q", space))
		require.NoError(t, err)
	})
	database := dbtest.URL(t, dbtest.Postgres)
	u, err := url.Parse(database)
	require.NoError(t, err)
	_, err = server.Writer().Exec(fmt.Sprintf("ALTER DATABASE %s SET TABLESPACE %q", strings.TrimPrefix(u.Path, "/"), space))
	require.NoError(t, err)
	d, err := hook.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	holdsOnAFullDisk(t, d, fill, empty)
}
