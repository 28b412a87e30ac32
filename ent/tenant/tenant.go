// Package tenant has the call in a context: the store that it reads or changes, with the settings that every request needs, and
// the actor that the activity journal shows. It reads nothing from the database.
package tenant

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// Store has the settings of a store that every request needs. It is loaded together with the API key.
type Store struct {
	ID       uuid.UUID
	Slug     string
	Currency string // ISO 4217
	Country  string // ISO 3166-1 alpha-2; the default region of phone numbers
	// Status is open, suspended or closed.
	Status string
	// BeingDeleted is true once rows of the store have been deleted.
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

// contextKey is the key of a context's Call. The call travels in the context, because the generated interfaces of services,
// which commands, the dashboard and both listeners share, have no other place for it.
type contextKey struct{}

// Call says who makes a call, about which store.
type Call struct {
	// Store is the store of the call, if InStore is true.
	Store   Store
	InStore bool
	// Actor is who makes the call; zero means the operator.
	Actor Actor
	// Request is nil in a command.
	Request *Request
	// IdempotencyKey is the key under which the call's change is made once; "" for none.
	IdempotencyKey string
	// Tokenless is true for a call over the network for which the operator's listener required no token.
	Tokenless bool
}

// WithCall returns a context with a call.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// CallOf returns the context's call, or a zero one.
func CallOf(ctx context.Context) Call {
	c, _ := ctx.Value(contextKey{}).(Call)
	return c
}

// With sets the store and the actor of the context's call.
func With(ctx context.Context, store Store, actor Actor) context.Context {
	c := CallOf(ctx)
	c.Store, c.InStore, c.Actor = store, true, actor
	return WithCall(ctx, c)
}

// WithMember makes a member of the store the actor of the context's call.
func WithMember(ctx context.Context, name string) context.Context {
	c := CallOf(ctx)
	c.Actor = Actor{Type: ActorMember, Name: name}
	return WithCall(ctx, c)
}

// WithIdempotencyKey sets the idempotency key of the context's call.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	c := CallOf(ctx)
	c.IdempotencyKey = key
	return WithCall(ctx, c)
}

// From returns the store and the actor of the context's call, and whether the call has a store.
func From(ctx context.Context) (Store, Actor, bool) {
	c := CallOf(ctx)
	return c.Store, c.Actor, c.InStore
}

var errNoStore = errors.New("the context names no store")

// StoreOf returns the store of the context's call, or an error, because a call without one is a bug here.
func StoreOf(ctx context.Context) (Store, error) {
	c := CallOf(ctx)
	if !c.InStore {
		return Store{}, errNoStore
	}
	return c.Store, nil
}
