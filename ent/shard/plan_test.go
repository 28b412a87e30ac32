package shard_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
)

// Even without Citus, operators need the list to split an installation by buckets.
func TestAPlanNamesTheLargestStoresWithTheirBuckets(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "it is what is planned for one")
	cluster, d := openCluster(t, dbtest.URL(t, dbtest.Postgres))
	fill(t, d, 12)
	var large uuid.UUID
	require.NoError(t, d.Writer().QueryRow(`INSERT INTO customers (id, store_id, name, email, search, created_at, updated_at)
 SELECT gen_random_uuid(), id, '', 'b@example.com', '', now(), now() FROM stores WHERE slug = 's7' RETURNING store_id`).Scan(&large))
	stores, err := count.New(d).StoresAfter(t.Context(), uuid.Nil, 100)
	require.NoError(t, err)
	for _, store := range stores {
		_, err := count.New(d).Recount(t.Context(), store.ID)
		require.NoError(t, err)
	}
	plan, err := cluster.Plan(t.Context())
	require.NoError(t, err)
	require.Len(t, plan.Largest, 10)
	require.Equal(t, large, plan.Largest[0].ID)
	require.Equal(t, tenant.Bucket(large), plan.Largest[0].Bucket)
	require.EqualValues(t, 5, plan.Largest[0].Rows)
	require.EqualValues(t, 4, plan.Largest[1].Rows)
	require.NotEmpty(t, plan.Obstacles)
}
