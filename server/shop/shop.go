// Package shop implements the operations on a store's data and API keys, with their rules, for every kind of caller: an API key
// through /v1 or Connect, or the operator. One file per resource; idempotency.go carries out a change once under an idempotency
// key.
//
// Every method takes its store and its actor from the context (tenant.With) and refuses with a
// *apierr.Refusal; any other error is a failure of the service. Every change runs in one
// transaction with its journal entry and its outbox rows. It is independent of HTTP.
package shop

import (
	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/server/validate"
)

// Options are the platform's choices for all stores. The zero value is a platform whose stores
// live under DefaultPublicURL and may create payment links.
type Options struct {
	// PaymentLinksOff closes the creation of payment links for every store.
	PaymentLinksOff bool
	// PublicURL is the address under which a store without an address of its own is reached:
	// the store's slug is appended to it. Empty means DefaultPublicURL.
	PublicURL string
}

// DefaultPublicURL is the public address setting of a platform that has set none.
const DefaultPublicURL = "http://localhost:3000"

// Shop carries out what is asked of a store's data. Goroutines may share it.
type Shop struct {
	db      *db.DB
	counts  *count.Counts
	options Options
}

// New returns a shop over the database.
func New(s *db.DB, o Options) *Shop {
	if o.PublicURL == "" {
		o.PublicURL = DefaultPublicURL
	}
	return &Shop{db: s, counts: count.New(s), options: o}
}

// problems gathers everything that is wrong with a request.
type problems struct{ validate.Problems }
