package dbtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/db/dbtest/need"
)

// Cluster runs a PostgreSQL server for this test, which is heavy, and needs PostgreSQL's programs.
func Cluster(t testing.TB, o cluster.Options) *cluster.Cluster {
	t.Helper()
	need.Heavy(t, "it runs a PostgreSQL server of its own")
	programs, err := cluster.Find()
	if err != nil {
		need.Missing(t, "%v", err)
	}
	c, err := cluster.StartWith(t.Context(), programs, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// Standby runs a standby of a server until the test ends.
func Standby(t testing.TB, primary *cluster.Cluster) *cluster.Cluster {
	t.Helper()
	standby, err := primary.Standby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Close()) })
	return standby
}
