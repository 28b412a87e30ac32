// Package tenant says whose data a piece of work touches and who asked for it: the store, as
// far as every request needs it, and the actor that the activity journal names. Both travel in
// the context from the edge to the hooks. It reads nothing from the database.
package tenant

import (
	"context"

	"github.com/google/uuid"
)

// Store is what the rules and the hooks need to know of a store at every request; it is loaded
// together with the API key.
type Store struct {
	ID       uuid.UUID
	Slug     string
	Currency string // ISO 4217
	Country  string // ISO 3166-1 alpha-2; the default region of phone numbers
	// Status is open, suspended or closed.
	Status string
	// PaymentLinksOpen tells whether payment links may be created in this store.
	PaymentLinksOpen bool
	// UnavailableTypes are the product types that may not be published.
	UnavailableTypes []string
	// PlatformFeePercent is copied to each order recorded.
	PlatformFeePercent float64
}

// The kinds of actor that the activity journal knows.
const (
	ActorAPIKey   = "api_key"
	ActorOperator = "operator"
	ActorMember   = "member"
)

// Actor is who makes a change: a key under its name, the operator, or a member of the store.
type Actor struct {
	Type string
	ID   string // the key's UUID; empty for the operator
	Name string
}

type contextKey struct{}

type value struct {
	store Store
	actor Actor
}

// With returns a context that carries the store and the actor of the work done under it.
func With(ctx context.Context, store Store, actor Actor) context.Context {
	return context.WithValue(ctx, contextKey{}, value{store, actor})
}

// From returns the store and the actor that With put into the context, and whether it did.
func From(ctx context.Context) (Store, Actor, bool) {
	v, ok := ctx.Value(contextKey{}).(value)
	return v.store, v.actor, ok
}
