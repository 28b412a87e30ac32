package db_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func TestBackupIsTheDatabaseOfOneMoment(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.SQLite, db.Config{})
	for _, statement := range []string{"CREATE TABLE a (n INTEGER)", "CREATE TABLE b (n INTEGER)"} {
		_, err := d.Writer().Exec(statement)
		require.NoError(t, err)
	}
	// Each transaction writes a pair of rows, and no copy may have only one row of a pair.
	var writing sync.WaitGroup
	stop, started := make(chan struct{}), make(chan struct{})
	writing.Go(func() {
		for n := 0; ; n++ {
			tx, err := d.Writer().Begin()
			if err == nil {
				_, _ = tx.Exec("INSERT INTO a VALUES ($1)", n)
				_, _ = tx.Exec("INSERT INTO b VALUES ($1)", n)
				err = tx.Commit()
			}
			if err != nil {
				t.Errorf("write beside a backup: %v", err)
			}
			if n == 10 {
				close(started)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	<-started
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	// Another db.DB stands for a command that runs beside the server.
	other, err := hook.Open(t.Context(), db.Config{URL: databaseURL(t, d)})
	require.NoError(t, err)
	bytes, err := other.Backup(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, other.Close())
	close(stop)
	writing.Wait()

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, info.Size(), bytes)
	if runtime.GOOS != "windows" {
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left behind")

	copied, err := hook.Open(t.Context(), db.Config{URL: "sqlite:" + path})
	require.NoError(t, err)
	defer copied.Close()
	var a, b int
	require.NoError(t, copied.Reader().QueryRow("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)").Scan(&a, &b))
	require.GreaterOrEqual(t, a, 11)
	require.Equal(t, a, b)
	var sound string
	require.NoError(t, copied.Reader().QueryRow("PRAGMA integrity_check").Scan(&sound))
	require.Equal(t, "ok", sound)
}

func databaseURL(t *testing.T, d *db.DB) string {
	t.Helper()
	var number int
	var name, file string
	require.NoError(t, d.Reader().QueryRow("PRAGMA database_list").Scan(&number, &name, &file))
	return "sqlite:" + file
}

func TestBackupLeavesAloneWhatIsThere(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t, dbtest.SQLite, db.Config{})
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err := d.Backup(t.Context(), path, nil)
	require.ErrorIs(t, err, fs.ErrExist)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(kept))

	_, err = d.Backup(t.Context(), filepath.Join(folder, "nowhere", "copy.db"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestBackupOfAServerIsTheServersOwn(t *testing.T) {
	t.Parallel()
	d := dbtest.NewEmpty(t, dbtest.Postgres, db.Config{})
	_, err := d.Backup(t.Context(), filepath.Join(t.TempDir(), "copy.db"), nil)
	require.ErrorIs(t, err, db.ErrNotEmbedded)
}
