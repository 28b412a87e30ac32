package auth

import (
	"slices"
	"strings"
)

// These are the scopes of keys (specification, Scopes). The store and orders have no write scope.
const (
	ScopeStoreRead         = "store:read"
	ScopeProductsRead      = "products:read"
	ScopeProductsWrite     = "products:write"
	ScopeOrdersRead        = "orders:read"
	ScopeCustomersRead     = "customers:read"
	ScopeCustomersWrite    = "customers:write"
	ScopePaymentLinksRead  = "payment_links:read"
	ScopePaymentLinksWrite = "payment_links:write"
)

// Scopes are in the order of the specification. The caller may change the slice.
func Scopes() []string {
	return []string{
		ScopeStoreRead,
		ScopeProductsRead, ScopeProductsWrite,
		ScopeOrdersRead,
		ScopeCustomersRead, ScopeCustomersWrite,
		ScopePaymentLinksRead, ScopePaymentLinksWrite,
	}
}

// Covers reports whether scopes include a required scope. A write scope includes the read scope of the same resource.
func Covers(scopes []string, required string) bool {
	if slices.Contains(scopes, required) {
		return true
	}
	resource, isRead := strings.CutSuffix(required, ":read")
	return isRead && slices.Contains(scopes, resource+":write")
}
