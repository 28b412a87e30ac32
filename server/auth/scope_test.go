package auth_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		scopes   []string
		required string
		want     bool
	}{
		{"the scope itself", []string{"products:read"}, "products:read", true},
		{"among others", []string{"store:read", "orders:read"}, "orders:read", true},
		{"write implies read", []string{"payment_links:write"}, "payment_links:read", true},
		{"read does not imply write", []string{"products:read"}, "products:write", false},
		{"write of another resource implies nothing", []string{"products:write"}, "customers:read", false},
		{"no scope", nil, "store:read", false},
		{"a name that begins alike", []string{"products:read"}, "product:read", false},
		{"a method that requires nothing known", []string{"store:read"}, "", false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, auth.Covers(row.scopes, row.required), "whether a key with %v may do what needs %q", row.scopes,
				row.required)
		})
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"store:read", "products:read", "products:write", "orders:read", "customers:read",
		"customers:write", "payment_links:read", "payment_links:write",
	}, auth.Scopes(), "the specification's table, without store:write and orders:write")
	auth.Scopes()[0] = "changed"
	require.Equal(t, "store:read", auth.Scopes()[0], "the slice is the caller's")
}

func TestPrincipal(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0198f2a0-0000-7000-8000-000000000001")
	p := auth.Principal{KeyID: id, KeyName: "Till", Scopes: []string{"customers:write"}}
	require.Equal(t, tenant.Actor{Type: "api_key", ID: id.String(), Name: "Till"}, p.Actor())
	require.NoError(t, p.Require("customers:read"))

	var r *apierr.Refusal
	require.ErrorAs(t, p.Require("orders:read"), &r, "a key with %v reads orders", p.Scopes)
	require.Equal(t, apierr.InsufficientScope, r.Code)
	require.Equal(t, 403, r.Status())
	require.Equal(t, "orders:read", r.Details.GetRequired())
}
