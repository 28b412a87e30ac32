// Package tenant identifies whose data a piece of work touches and who asked for it: the store,
// with what every request needs of it, and the actor for the activity journal. Both travel in the
// context from the edge to the hooks. It reads nothing from the database.
package tenant

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// Store is the part of a store that the rules and the hooks need at every request; it is loaded
// together with the API key.
type Store struct {
	ID       uuid.UUID
	Slug     string
	Currency string // ISO 4217
	Country  string // ISO 3166-1 alpha-2; the default region of phone numbers
	// Status is open, suspended or closed.
	Status string
	// BeingDeleted is true once the store's rows begin to go: it is closed, and what it has is no longer whole.
	BeingDeleted bool
	// PaymentLinksOpen is true if payment links may be created in this store.
	PaymentLinksOpen bool
	// UnavailableTypes are the product types that may not be published.
	UnavailableTypes []string
	// PlatformFeePercent is copied to each order recorded.
	PlatformFeePercent float64
}

// The kinds of actor in the activity journal.
const (
	ActorAPIKey   = "api_key"
	ActorOperator = "operator"
	ActorMember   = "member"
)

// Actor is who makes a change: a key, by its name, the operator, or a member of the store.
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

// With returns a context with the store and the actor of the work done under it.
func With(ctx context.Context, store Store, actor Actor) context.Context {
	return context.WithValue(ctx, contextKey{}, value{store, actor})
}

// From returns the store and the actor of the context, and whether it has them.
func From(ctx context.Context) (Store, Actor, bool) {
	v, ok := ctx.Value(contextKey{}).(value)
	return v.store, v.actor, ok
}

var errNoStore = errors.New("the context names no store")

// StoreOf returns the store of the context, or an error if it has none: a mistake of the service.
func StoreOf(ctx context.Context) (Store, error) {
	store, _, ok := From(ctx)
	if !ok {
		return store, errNoStore
	}
	return store, nil
}
