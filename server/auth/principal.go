package auth

import (
	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// Principal is the caller of a request: an API key and its store. The zero value is nobody: its
// KeyID is uuid.Nil. Goroutines may share one; none may change its slices.
type Principal struct {
	KeyID   uuid.UUID
	KeyName string
	// Scopes are the scopes chosen when the key was created; a write scope implies the read scope.
	Scopes []string
	Store  tenant.Store
}

// Actor returns the actor of the activity journal: the key, by its name.
func (p Principal) Actor() tenant.Actor {
	return tenant.Actor{Type: tenant.ActorAPIKey, ID: p.KeyID.String(), Name: p.KeyName}
}

// Require returns nil if the key has the scope or one that implies it. Otherwise it returns the refusal insufficient_scope,
// whose details name the scope.
func (p Principal) Require(scope string) error {
	if Covers(p.Scopes, scope) {
		return nil
	}
	r := apierr.New(apierr.InsufficientScope, "The API key lacks the scope "+scope+
		". Scopes never change: create a key that has it.")
	r.Details = &storefrontv1.ErrorDetails{Required: scope}
	return r
}
