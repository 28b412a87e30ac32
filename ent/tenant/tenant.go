// Package tenant identifies the store that a request reads or changes, with the store's settings that every request needs,
// and the actor that the activity journal shows. From the edge to the hooks, both are in the context of the request. The
// package reads nothing from the database.
package tenant

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// Store has the settings of a store that the rules and the hooks need at every request. It is loaded together with the API key.
type Store struct {
	ID       uuid.UUID
	Slug     string
	Currency string // ISO 4217
	Country  string // ISO 3166-1 alpha-2; the default region of phone numbers
	// Status is open, suspended or closed.
	Status string
	// BeingDeleted is true once the deletion of the store's rows has begun: the store is closed and its data incomplete.
	BeingDeleted bool
	// PaymentLinksOpen is true if payment links may be created in this store.
	PaymentLinksOpen bool
	// UnavailableTypes are the product types that may not be published.
	UnavailableTypes []string
	// PlatformFeePercent is copied to each new order.
	PlatformFeePercent float64
}

// The kinds of actor in the activity journal.
const (
	ActorAPIKey   = "api_key"
	ActorOperator = "operator"
	ActorMember   = "member"
)

// Actor is who makes a change: an API key, a member of the store, or the operator.
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

// With returns a context with a store and an actor.
func With(ctx context.Context, store Store, actor Actor) context.Context {
	return context.WithValue(ctx, contextKey{}, value{store, actor})
}

// From returns the store and the actor of the context, and whether it has them.
func From(ctx context.Context) (Store, Actor, bool) {
	v, ok := ctx.Value(contextKey{}).(value)
	return v.store, v.actor, ok
}

var errNoStore = errors.New("the context names no store")

// StoreOf returns the store of the context. A context without a store is a bug in the service; then StoreOf returns an
// error.
func StoreOf(ctx context.Context) (Store, error) {
	store, _, ok := From(ctx)
	if !ok {
		return store, errNoStore
	}
	return store, nil
}
