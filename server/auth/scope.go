package auth

import (
	"slices"
	"strings"
)

// The scopes of keys (specification, Scopes). Store and orders have no write scope.
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

// Scopes returns every scope, in the specification's order. The slice is the caller's.
func Scopes() []string {
	return []string{
		ScopeStoreRead,
		ScopeProductsRead, ScopeProductsWrite,
		ScopeOrdersRead,
		ScopeCustomersRead, ScopeCustomersWrite,
		ScopePaymentLinksRead, ScopePaymentLinksWrite,
	}
}

// Covers reports whether a key with these scopes has the required one: a write scope implies the
// read scope of the same resource, never the reverse.
func Covers(scopes []string, required string) bool {
	if slices.Contains(scopes, required) {
		return true
	}
	resource, isRead := strings.CutSuffix(required, ":read")
	return isRead && slices.Contains(scopes, resource+":write")
}
