package doctor

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
)

func TestIDsThatEarlierReleasesLetIn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		exec := func(query string, args ...any) {
			t.Helper()
			_, err := d.Writer().ExecContext(t.Context(), query, args...)
			require.NoError(t, err)
		}
		for _, slug := range []string{"a", "b"} {
			_, err := shop.New(d, shop.Options{}).CreateStore(t.Context(), tenant.Actor{}, &adminv1.CreateStoreRequest{Name: "S", Slug: slug,
				Currency: "XAF", Country: "CM"})
			require.NoError(t, err)
		}
		create := func(store, id string) {
			exec(`INSERT INTO customers (id, store_id, email, search, created_at, updated_at)
 SELECT $1, id, $2, '', created_at, created_at FROM stores WHERE slug = $3`, id, id+"@example.com", store)
		}
		shared := uuid.NewString()
		create("a", shared)
		requireFinding(t, ids(t.Context(), d, Installation{}), OK, "^each of one row, none reserved$", "")

		own := uuid.NewString()
		exec("UPDATE stores SET slug = $1 WHERE slug = 'b'", own)
		requireFinding(t, ids(t.Context(), d, Installation{}), Warn, "^1 name in the form of an id: stores [0-9a-f-]{36}$",
			"by their id")
		exec("UPDATE stores SET slug = 'b' WHERE slug = $1", own)

		if db.ByDialect(d, true, false) {
			create("b", shared)
			requireFinding(t, ids(t.Context(), d, Installation{}), Fail, "^1 id in two stores: customers "+shared+"$", "--store")
		}
		exec(db.ByDialect(d, "ALTER TABLE customers DROP CONSTRAINT reserved_id", "DROP TRIGGER customers_reserved_id"))
		create("a", uuid.Max.String())
		requireFinding(t, ids(t.Context(), d, Installation{}), Fail, "^1 row with an id that the service reserves: customers ffffffff",
			"delete the store")
		require.Contains(t, Database(t.Context(), d, Installation{}), withCheck("ids", ids(t.Context(), d, Installation{})))
	})
}
