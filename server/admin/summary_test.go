package admin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/admin"
)

func TestEventsAreDescribedInAFewWords(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"type":"order.paid","data":{"reference":"A-1","amount":1500,"currency":"XAF","customer":{"name":"Awa"}}}`: "Order A-1 · 1,500 XAF · Awa",
		`{"type":"product.published","data":{"title":"Guide","priceAmount":150,"currency":"EUR"}}`:                  "Guide · 1.50 EUR",
		`{"type":"customer.created","data":{"name":"","email":null,"phone":"+237670000001"}}`:                       "Customer +237670000001",
		`{"type":"ping","data":{"message":"This is a test event.","sentAt":"x"}}`:                                   "This is a test event.",
		`no JSON`: "",
	} {
		require.Equal(t, want, admin.EventSummary([]byte(payload)))
	}
}
