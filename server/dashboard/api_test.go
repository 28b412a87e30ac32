package dashboard_test

import (
	"html"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/server/auth"
)

// An owner sees where the API is, a first request that the new key may make, and where to read on.
func TestPagesShowTheWayToTheAPI(t *testing.T) {
	t.Parallel()
	p := newPlace(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	r := p.signedIn("one")
	for scope, path := range map[string]string{
		auth.ScopeStoreRead: "/v1/store", auth.ScopeProductsWrite: "/v1/products", auth.ScopeOrdersRead: "/v1/orders",
		auth.ScopeCustomersWrite: "/v1/customers", auth.ScopePaymentLinksRead: "/v1/payment-links",
	} {
		made := r.post("/keys", "name", "key for "+scope, "scopes", scope, "lifetime", "30d")
		require.Equal(t, http.StatusOK, made.status)
		require.Contains(t, html.UnescapeString(made.text), "curl "+apiAddress+path+` --header "Authorization: Bearer $SHOP_KEY"`)
	}
	overview := r.get("/").text
	require.Contains(t, overview, "api.example.com")
	require.Contains(t, overview, `href="/docs"`)
	require.Contains(t, overview, `href="/docs/guide/verify"`)
	secret := r.post("/webhooks", "url", "https://shop.example.com/hooks", "events", "order.paid")
	require.Equal(t, http.StatusOK, secret.status)
	require.Contains(t, secret.text, `href="/docs/guide/verify"`)
}
