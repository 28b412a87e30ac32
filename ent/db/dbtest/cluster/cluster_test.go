package cluster_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/lib/pq" // the driver named "postgres"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/db/dbtest/need"
)

func open(t *testing.T, c *cluster.Cluster) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", c.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestWhatWasCommittedOutlivesACrash(t *testing.T) {
	t.Parallel()
	c := dbtest.Cluster(t, cluster.Options{})

	server := open(t, c)
	var fsync string
	require.NoError(t, server.QueryRowContext(t.Context(), "SHOW fsync").Scan(&fsync))
	require.Equal(t, "on", fsync)
	_, err := server.ExecContext(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n")
	require.NoError(t, err)

	require.NoError(t, c.Crash(t.Context()))
	require.Error(t, server.PingContext(t.Context()), "nobody answers")

	require.NoError(t, c.Restart(t.Context()))
	var n int
	require.NoError(t, open(t, c).QueryRowContext(t.Context(), "SELECT n FROM kept").Scan(&n))
	require.Equal(t, 7, n)
}

func TestAStandbyHasWhatWasCommittedAndIsPromoted(t *testing.T) {
	t.Parallel()
	primary := dbtest.Cluster(t, cluster.Options{})
	_, err := open(t, primary).ExecContext(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n")
	require.NoError(t, err)

	standby := dbtest.Standby(t, primary)
	require.NotEqual(t, primary.Port(), standby.Port())
	copied := open(t, standby)
	_, err = copied.ExecContext(t.Context(), "INSERT INTO kept VALUES (8)")
	require.ErrorContains(t, err, "read-only")

	require.NoError(t, primary.Crash(t.Context()))
	require.NoError(t, standby.Promote(t.Context()))
	var n int
	require.NoError(t, copied.QueryRowContext(t.Context(), "INSERT INTO kept SELECT n + 1 FROM kept RETURNING n").Scan(&n))
	require.Equal(t, 8, n)
}

func TestADiskOfItsOwnHoldsTheDataAlone(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs a PostgreSQL server")
	programs, err := cluster.Find()
	if err != nil {
		need.Missing(t, "%v", err)
	}
	disk, err := os.MkdirTemp("", "storefront-disk-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(disk)) })
	require.NoError(t, os.Chmod(disk, 0o711))
	c, err := cluster.StartWith(t.Context(), programs, cluster.Options{Disk: disk})
	require.NoError(t, err)
	log, err := os.Readlink(filepath.Join(disk, "data", "pg_wal"))
	require.NoError(t, err)
	require.NotContains(t, log, disk, "the log lies elsewhere")
	require.NoError(t, c.Close())
	entries, err := os.ReadDir(disk)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestAFolderWithoutProgramsIsAnError(t *testing.T) {
	t.Parallel()
	_, err := cluster.Start(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "initdb")
}
