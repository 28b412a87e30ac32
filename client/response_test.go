package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client"
)

func TestWithResponseStoresTheLastResponse(t *testing.T) {
	t.Parallel()
	full := respondsWith(200, "application/proto", "\x0a\x01x\x10\x01", "X-Request-Id", "79a8915a", "X-RateLimit-Limit", "120",
		"X-RateLimit-Remaining", "7", "X-RateLimit-Reset", "31")
	shop, err := client.New("https://api.example.com", key, client.WithMaxRetries(0),
		client.WithHTTPClient(&http.Client{Transport: playing(full, refused, done, dead)}))
	require.NoError(t, err)
	var got client.Response
	ctx := client.WithResponse(t.Context(), &got)

	_, err = shop.Products.Get(ctx, "x")
	require.NoError(t, err)
	require.Equal(t, 200, got.Status)
	require.Equal(t, "79a8915a", got.RequestID)
	require.Equal(t, &client.RateLimit{Limit: 120, Remaining: 7, ResetSeconds: 31}, got.RateLimit)
	require.Equal(t, "application/proto", got.Header.Get("Content-Type"))

	_, err = shop.Products.Get(ctx, "x")
	require.Error(t, err)
	require.Equal(t, 403, got.Status, "an error has a response too")

	_, err = shop.Products.Page(ctx, client.ProductFilter{})
	require.NoError(t, err)
	require.Equal(t, 200, got.Status)
	require.Nil(t, got.RateLimit, "the response has no header of a rate limit")

	_, err = shop.Products.Get(ctx, "x")
	require.Error(t, err)
	require.Equal(t, 200, got.Status, "a call without a response changes nothing")

	_, err = shop.Products.Get(t.Context(), "x")
	require.Error(t, err, "the context of WithResponse is not required")
}
