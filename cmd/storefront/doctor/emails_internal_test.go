package doctor

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
)

func TestEmailsOfAnOlderRule(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		made, err := shop.New(d, shop.Options{}).CreateStore(t.Context(), tenant.Actor{}, &adminv1.CreateStoreRequest{Name: "S", Slug: "shop",
			Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		create := func(email string) {
			_, err := d.Writer().Exec(`INSERT INTO customers (id, store_id, email, search, created_at, updated_at)
 SELECT $1, id, $2, '', created_at, created_at FROM stores WHERE id = $3`, uuid.NewString(), email, made.GetId())
			require.NoError(t, err)
		}
		for _, email := range []string{"ann@example.com", "a.b+c-d_e@abc--z.example", "élan@bücher.example", "o'neill@example.com",
			"\"a b\"@example.com"} {
			create(email)
		}
		_, err = d.Writer().Exec("UPDATE customers SET email = CAST(id AS text) || '@forgotten.invalid' WHERE email = 'ann@example.com'")
		require.NoError(t, err)
		requireFinding(t, emails(t.Context(), d, Installation{}), OK, "^as today's rule has them$", "")
		for _, email := range []string{"ann@example.com\u200b", "b\u2003b@example.com", "ann@xn--bcher-kva.example", "ann@a_b.example",
			"ann@-b.example", "ann@b-.example", "Ann@example.com", "ann@xn--mgba3gch31f060k.example\u200c", resource.ForgottenEmail(uuid.New()), "a@b.forgotten.invalid"} {
			create(email)
		}
		requireFinding(t, emails(t.Context(), d, Installation{}), Warn,
			"^10 e-mails of customers that today's rule refuses or writes otherwise: [0-9a-f-]{36}, .*, 5 more$", "`storefront customer update ID")
		require.Contains(t, Database(t.Context(), d, Installation{}), withCheck("emails", emails(t.Context(), d, Installation{})))
	})
}
