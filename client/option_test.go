package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client"
)

func TestNewJudgesTheBaseURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, url string
		plain       bool
		called      string // the URL that a call requests; "" if New fails
		wantErr     string
	}{
		{"https", "https://api.example.com", false, "https://api.example.com/storefront.v1.StoreService/GetStore", ""},
		{"a port, a path and a slash at its end", "https://api.example.com:8443/shop/", false,
			"https://api.example.com:8443/shop/storefront.v1.StoreService/GetStore", ""},
		{"this machine by name", "http://localhost:8080", false, "http://localhost:8080/storefront.v1.StoreService/GetStore", ""},
		{"in capitals, for which net/http would use a proxy", "http://LocalHost:8080", false,
			"http://localhost:8080/storefront.v1.StoreService/GetStore", ""},
		{"by address", "http://127.8.9.1:8080/", false, "http://127.8.9.1:8080/storefront.v1.StoreService/GetStore", ""},
		{"and by the longer one", "http://[::1]:8080", false, "http://[::1]:8080/storefront.v1.StoreService/GetStore", ""},
		{"and by the mapped one", "http://[::ffff:127.0.0.1]:8080", false,
			"http://[::ffff:127.0.0.1]:8080/storefront.v1.StoreService/GetStore", ""},
		{"a private network, said so", "http://storefront:8080", true, "http://storefront:8080/storefront.v1.StoreService/GetStore",
			""},
		{"a private network, not said", "http://storefront:8080", false, "", "WithPlainHTTP"},
		{"a name that only looks like this machine", "http://localhost.example.com", false, "", "must be https"},
		{"an address that only looks like this machine", "http://127.0.0.1.example.com", false, "", "must be https"},
		{"nothing", "", false, "", "must start with https://"},
		{"no scheme", "api.example.com", false, "", "must start with https://"},
		{"another scheme", "ftp://api.example.com", false, "", "must start with https://"},
		{"no host", "https:///v1", false, "", "must start with https://"},
		{"a port alone", "https://:8443", false, "", "must start with https://"},
		{"the version", "https://api.example.com/v1", false, "", "without /v1"},
		{"the version and a slash", "https://api.example.com/v1/", false, "", "without /v1"},
		{"a password, which would be shown", "https://user:hunter2@api.example.com", false, "", "no user name or password"},
		{"a query", "https://api.example.com?a=b", false, "", "before ? and #"},
		{"a fragment", "https://api.example.com#top", false, "", "before ? and #"},
		{"no URL, with a password in it", "https://user:hunter2@api.example.com:port", false, "", "is no URL"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			service := playing(done)
			options := []client.Option{client.WithHTTPClient(&http.Client{Transport: service})}
			if row.plain {
				options = append(options, client.WithPlainHTTP())
			}
			shop, err := client.New(row.url, key, options...)
			if row.wantErr != "" {
				require.ErrorContains(t, err, "client: base URL: ", row.reason)
				require.ErrorContains(t, err, row.wantErr)
				require.NotContains(t, err.Error(), "hunter2", row.reason)
				return
			}
			require.NoError(t, err)
			_, err = shop.Store.Get(t.Context())
			require.NoError(t, err)
			require.Equal(t, row.called, service.requests[0].URL.String())
		})
	}
}

func TestNewJudgesTheKeyWithoutShowingIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, key, wantErr string }{
		{"a setting that is missing", "", "is empty"},
		{"another secret", "whsec_hunter2", "does not start with svc_live_"},
		{"the end of a file's line", "svc_live_hunter2\n", "white space"},
		{"a second header", "svc_live_hunter2\r\nX: y", "white space"},
		{"what no header holds", "svc_live_hunter2é", "character that no key has"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			_, err := client.New(baseURL, row.key)
			require.ErrorContains(t, err, "client: API key: ", row.reason)
			require.ErrorContains(t, err, row.wantErr)
			require.NotContains(t, err.Error(), "hunter2", row.reason)
		})
	}
}

func TestNewJudgesItsOptions(t *testing.T) {
	t.Parallel()
	_, err := client.New(baseURL, key, client.WithMaxRetries(-1))
	require.ErrorContains(t, err, "max retries must be 0 or more")
	_, err = client.New(baseURL, key, client.WithTimeout(0))
	require.ErrorContains(t, err, "the timeout must be more than 0")
	_, err = client.New(baseURL, key, client.WithUserAgent("crm\r\nX: y"))
	require.ErrorContains(t, err, "one line")
	_, err = client.New(baseURL, key, client.WithHTTPClient(nil))
	require.NoError(t, err)
}

func TestTheKeyIsShownByNoVerb(t *testing.T) {
	t.Parallel()
	service := playing(limited)
	shop := service.open(t, client.WithMaxRetries(0))
	_, err := shop.Store.Get(t.Context())
	require.Error(t, err)
	require.Contains(t, service.requests[0].Header.Get("Authorization"), key)
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{
			shop, *shop, shop.Store, *shop.Store, *shop.Products, *shop.Orders, *shop.Customers, *shop.PaymentLinks,
			err, *refused, refused.Unwrap(),
		} {
			text := fmt.Sprintf(verb, value)
			require.NotContains(t, text, key, "%s of %T", verb, value)
			require.NotContains(t, text, fmt.Sprintf("%x", key), "%s of %T", verb, value)
		}
	}
}

// Even if the caller's HTTP client follows redirects.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	called := false
	elsewhere := serving(t, func(http.ResponseWriter, *http.Request) { called = true })
	origin := serving(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
	})
	given := &http.Client{}
	shop, err := client.New(origin, key, client.WithHTTPClient(given))
	require.NoError(t, err)
	_, err = shop.Store.Get(t.Context())
	require.ErrorContains(t, err, "answered 307")
	require.False(t, called)
	require.Nil(t, given.CheckRedirect, "the given client is left as it was")
}
