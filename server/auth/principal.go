package auth

import (
	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// Principal is the caller of a request: an API key and its store. The zero value means no caller. Goroutines may share it, and
// must not change its slices.
type Principal struct {
	KeyID   uuid.UUID
	KeyName string
	// Scopes were chosen when the key was created. A write scope includes the read scope of the same resource.
	Scopes []string
	Store  tenant.Store
}

// Actor returns the key as the actor of changes.
func (p Principal) Actor() tenant.Actor {
	return tenant.Actor{Type: tenant.ActorAPIKey, ID: p.KeyID.String(), Name: p.KeyName}
}

// Require returns nil, or the refusal insufficient_scope.
func (p Principal) Require(scope string) error {
	if Covers(p.Scopes, scope) {
		return nil
	}
	r := apierr.New(apierr.InsufficientScope, "The API key lacks the scope "+scope+
		". Scopes never change: create a key that has it.")
	r.Details = &storefrontv1.ErrorDetails{Required: scope}
	return r
}
