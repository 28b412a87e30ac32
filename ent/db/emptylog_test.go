package db_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/gen/ent"
)

// longWait makes a test hang if a statement waits for a lock.
const longWait = time.Hour

func writeMark(t *testing.T, d *db.DB) {
	t.Helper()
	_, err := d.Writer().ExecContext(t.Context(), "INSERT INTO clock_marks (id, seen_at) VALUES ('test', 0)"+
		" ON CONFLICT (id) DO UPDATE SET seen_at = clock_marks.seen_at + 1")
	require.NoError(t, err)
}

// It returns the kind of a reader or writer, and empties the log once there is none.
func TestEmptyLogWaitsForNothing(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	open := func() *db.DB {
		d, err := db.Open(t.Context(), db.Config{URL: url, LockTimeout: longWait}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		return d
	}
	d, other := open(), open()
	length := func() int64 {
		info, err := os.Stat(strings.TrimPrefix(url, "sqlite:") + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	empty := func() string {
		reader, err := d.EmptyLog(t.Context())
		require.NoError(t, err)
		return reader
	}
	for _, read := range []struct{ kind, name string }{
		{db.ReaderExport, "export"}, {db.ReaderBackup, "backup"}, {"a list", "reader"},
	} {
		for _, reader := range []*db.DB{d, other} {
			writeMark(t, d)
			require.NoError(t, reader.Snapshot(t.Context(), read.kind, func(ctx context.Context, tx *ent.Tx) error {
				_, err := tx.Store.Query().Count(ctx)
				require.Equal(t, read.name, empty(), "it has read the end of the log")
				writeMark(t, d)
				require.Equal(t, read.name, empty(), "there is more in the log than it has read")
				writeMark(t, other)
				return err
			}))
			require.NotZero(t, length())
			require.Empty(t, empty())
			require.Zero(t, length())
		}
	}
	tx, err := other.Writer().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "reader", empty(), "somebody writes")
	require.NoError(t, tx.Rollback())
	require.Empty(t, empty())
}

func TestABackupLeavesTheWriterFree(t *testing.T) {
	t.Parallel()
	var d *db.DB
	wrote := false
	d = dbtest.New(t, dbtest.SQLite, db.Config{LockTimeout: longWait, Observe: func(query string) {
		if strings.HasPrefix(query, "VACUUM") {
			wrote = true
			writeMark(t, d)
		}
	}})
	_, err := d.Backup(t.Context(), filepath.Join(t.TempDir(), "copy.db"), nil)
	require.NoError(t, err)
	require.True(t, wrote)
}
