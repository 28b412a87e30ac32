package cluster_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/bench/cluster"
)

func TestWhatWasCommittedOutlivesACrash(t *testing.T) {
	t.Parallel()
	programs, err := cluster.Find()
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("STOREFRONT_TEST_REQUIRE"), err)
		t.Skip(err)
	}
	c, err := cluster.Start(t.Context(), programs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })

	conn, err := pgx.Connect(t.Context(), c.URL())
	require.NoError(t, err)
	var fsync string
	require.NoError(t, conn.QueryRow(t.Context(), "SHOW fsync").Scan(&fsync))
	require.Equal(t, "on", fsync)
	_, err = conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n")
	require.NoError(t, err)

	require.NoError(t, c.Crash(t.Context()))
	require.Error(t, conn.Ping(t.Context()), "the connection died with the server")
	_, err = pgx.Connect(t.Context(), c.URL())
	require.Error(t, err, "and nobody answers")

	require.NoError(t, c.Restart(t.Context()))
	conn, err = pgx.Connect(t.Context(), c.URL())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n))
	require.Equal(t, 7, n)
}

func TestAFolderWithoutProgramsIsAnError(t *testing.T) {
	t.Parallel()
	_, err := cluster.Start(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "initdb")
}
