package rpc_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/gen/storefront/admin/v1/adminv1connect"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
)

// The header has a slug or id. The journal shows the operator, or the member whom the call names.
func TestOperatorCallsTheServicesOfCallers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newBenchOn(t, d)
		store, err := b.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "T", Slug: "t", Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		own := newRows(b, "t")
		for _, name := range []string{"t", store.GetId(), strings.ToUpper(store.GetId()), "%74"} {
			products := storefrontv1connect.NewProductServiceClient(b.http(false), b.url, b.withToken(token),
				connect.WithInterceptors(header("Storefront-Store", name)))
			found, err := products.ListProducts(t.Context(), &storefrontv1.ListProductsRequest{})
			require.NoError(t, err, name)
			require.Len(t, found.GetData(), 1, name)
			changed, err := products.UpdateProduct(t.Context(), &storefrontv1.UpdateProductRequest{Id: own["product"], Title: &name})
			require.NoError(t, err, name)
			require.Equal(t, name, changed.GetTitle())
		}
		customers := storefrontv1connect.NewCustomerServiceClient(b.http(false), b.url, b.withToken(token),
			connect.WithInterceptors(header("Storefront-Store", "t"), header("Storefront-Member", url.PathEscape("Awa N."))))
		_, err = customers.UpdateCustomer(t.Context(), &storefrontv1.UpdateCustomerRequest{Id: own["customer"], Name: new("B")})
		require.NoError(t, err)
		entries, err := b.operator.ListActivity(t.Context(), &adminv1.ListActivityRequest{Store: "t", PageSize: new(int32(2))})
		require.NoError(t, err)
		require.Equal(t, "Awa N.", entries.GetEntries()[0].GetActor().GetName())
		require.Equal(t, adminv1.ActivityEntry_Actor_member, entries.GetEntries()[0].GetActor().GetType())
		require.Equal(t, adminv1.ActivityEntry_Actor_operator, entries.GetEntries()[1].GetActor().GetType())
	})
}

// There is no default, not even if the installation has one store only.
func TestCallersServicesNeedAStore(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	own := newRows(b, "s")
	for name, row := range map[string]struct {
		header []string
		status int
		code   apierr.Code
	}{
		"no store":                  {nil, 400, apierr.ValidationFailed},
		"an empty name":             {[]string{""}, 400, apierr.ValidationFailed},
		"two stores":                {[]string{"s", "s"}, 400, apierr.ValidationFailed},
		"a name that is not a text": {[]string{"%zz"}, 400, apierr.ValidationFailed},
		"an unknown slug":           {[]string{"nowhere"}, 404, apierr.StoreNotFound},
		"an unknown id":             {[]string{uuid.NewString()}, 404, apierr.StoreNotFound},
		"a slug in another case":    {[]string{"S"}, 404, apierr.StoreNotFound},
		"the notices":               {[]string{"@notices"}, 404, apierr.StoreNotFound},
		"a text that is not stored": {[]string{"%00"}, 404, apierr.StoreNotFound},
	} {
		for _, m := range procedures(t, "storefront.v1") {
			at := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+at, strings.NewReader("{}"))
			require.NoError(t, err)
			r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
			if row.header != nil {
				r.Header["Storefront-Store"] = row.header
			}
			answer, _, refused := b.do(r)
			require.Equal(t, row.status, answer.StatusCode, "%s %s", name, at)
			require.Equal(t, string(row.code), refused.GetCode(), "%s %s", name, at)
			if row.code == apierr.ValidationFailed {
				require.Equal(t, "Storefront-Store", refused.GetDetails().GetFields()[0].GetField(), "%s %s", name, at)
			}
		}
	}

	_, err := b.operator.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "T", Slug: "t", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	inT := []connect.ClientOption{b.withToken(token), connect.WithInterceptors(header("Storefront-Store", "t"))}
	products := storefrontv1connect.NewProductServiceClient(b.http(false), b.url, inT...)
	_, err = products.GetProduct(t.Context(), &storefrontv1.GetProductRequest{Id: own["product"]})
	require.Equal(t, apierr.ProductNotFound, codeOf(err), "another store's")
	_, err = products.UpdateProduct(t.Context(), &storefrontv1.UpdateProductRequest{Id: own["product"], Title: new("Q")})
	require.Equal(t, apierr.ProductNotFound, codeOf(err), "another store's")

	// With the header, the operator's own services are limited to the store too.
	orders := adminv1connect.NewOrderServiceClient(b.http(false), b.url, inT...)
	_, err = orders.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: own["order"]})
	require.Equal(t, apierr.OrderNotFound, codeOf(err), "another store's")
	_, err = orders.PayOrder(t.Context(), &adminv1.PayOrderRequest{Id: own["order"], Store: "s"})
	require.Equal(t, apierr.StoreNotFound, codeOf(err), "not the header's")

	_, err = b.db.Writer().ExecContext(t.Context(), "UPDATE stores SET deletion_began_at = created_at WHERE slug = 't'")
	require.NoError(t, err)
	_, err = products.ListProducts(t.Context(), &storefrontv1.ListProductsRequest{})
	require.Equal(t, apierr.StoreBeingDeleted, codeOf(err))
}

// On the admin listener they refuse an API key, too.
func TestCallersServicesNeedTheToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, dbtest.SQLite, db.Config{})
	key, err := b.operator.CreateKey(t.Context(), &adminv1.CreateKeyRequest{Store: "s", Name: "k", Scopes: []string{"store:read"},
		Lifetime: adminv1.Key_DAYS_30})
	require.NoError(t, err)
	stores := func(options ...connect.ClientOption) storefrontv1connect.StoreServiceClient {
		options = append(options, connect.WithInterceptors(header("Storefront-Store", "s")))
		return storefrontv1connect.NewStoreServiceClient(b.http(false), b.url, options...)
	}
	for _, row := range []struct {
		client storefrontv1connect.StoreServiceClient
		code   apierr.Code
	}{
		{stores(), apierr.AdminTokenMissing},
		{stores(b.withToken(strings.Repeat("x", 40))), apierr.AdminTokenInvalid},
		{stores(b.withToken(key.GetSecret())), apierr.AdminTokenInvalid},
		{stores(b.withToken(token)), ""},
	} {
		_, err := row.client.GetStore(t.Context(), &storefrontv1.GetStoreRequest{})
		require.Equal(t, row.code, codeOf(err))
	}
}
