package db_test

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

func TestAStoreIsAskedForOnTheNodeThatHasIt(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	s := dbtest.New(t, dbtest.Postgres, db.Config{MaxConns: 4})
	asked := map[string]int{}
	for range 40 {
		store := uuid.New()
		var owner, port int
		require.NoError(t, s.Reader().QueryRow(`SELECT nodeport FROM pg_dist_shard_placement
 WHERE shardid = get_shard_id_for_distribution_column('orders', $1::uuid)`, store).Scan(&owner))
		require.NoError(t, s.ForStore(store).Reader().QueryRow("SELECT inet_server_port()").Scan(&port))
		require.Equal(t, owner, port, store)
		asked[strconv.Itoa(port)]++
	}
	require.Len(t, asked, 2, "the workers")
}

func TestOnOneDatabaseEachStoreIsThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		dbtest.OnePostgres(t, "it is about one")
		require.Same(t, s, s.ForStore(uuid.New()))
	})
}
