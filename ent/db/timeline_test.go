package db_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/cluster"
)

// The machine of a primary is down, its standby is promoted, and the machine comes back with a second
// primary, which nobody has made a standby. What is written there is lost.
func TestAPrimaryThatWasReplacedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	first := dbtest.Cluster(t, cluster.Options{})
	second := dbtest.Standby(t, first)
	s, err := db.Open(t.Context(), db.Config{
		URL:      fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable", first.Port(), second.Port()),
		MaxConns: 4,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	signal := s.Listen(t.Context())
	port := func(on interface{ QueryRow(string, ...any) *sql.Row }) (port int) {
		require.NoError(t, on.QueryRow("SELECT inet_server_port()").Scan(&port))
		return port
	}
	require.Equal(t, first.Port(), port(s.Reader()))
	require.NoError(t, first.Crash(t.Context()))
	require.NoError(t, second.Promote(t.Context()))
	require.Eventually(t, func() bool { return s.Ping(t.Context()) == nil && port(s.Reader()) == second.Port() }, hang, 10*time.Millisecond)
	require.NoError(t, first.Restart(t.Context()))
	var own bool
	require.NoError(t, open(t, first.URL()).Reader().QueryRow("SELECT NOT pg_is_in_recovery()").Scan(&own))
	require.True(t, own, "there are two primaries")
	for range s.Conns() { // all that the pool may open
		conn, err := s.Reader().Conn(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		var at int
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT inet_server_port()").Scan(&at))
		require.Equal(t, second.Port(), at)
	}
	other := open(t, second.URL())
	const listeners = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
	require.Eventually(t, func() bool { return count(t, other, "SELECT count(*) "+listeners) == 1 }, hang, 10*time.Millisecond)
	var ended int
	require.NoError(t, other.Writer().QueryRow("SELECT pid, pg_terminate_backend(pid) "+listeners).Scan(&ended, &own))
	require.Eventually(t, func() bool {
		return count(t, other, fmt.Sprintf("SELECT count(*) %s AND pid <> %d", listeners, ended)) == 1
	}, hang, 10*time.Millisecond, "the listener connects again, and not to the first")
	require.Eventually(t, func() bool {
		s.Announce()
		return len(signal) > 0
	}, hang, 10*time.Millisecond)
}
