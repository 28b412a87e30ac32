// Package shop implements the operations on a store's data and API keys, with their rules, for every kind of caller: an API key
// through /v1 or Connect, or the operator. There is one file for each resource; idempotency.go runs a change once for an
// idempotency key.
//
// Every method takes its store and its actor from the context (tenant.With) and refuses with a *apierr.Refusal; any other error
// is a failure of the service. Every change runs in one transaction with its journal entry, its events and their deliveries. The
// package is independent of HTTP.
package shop

import (
	"context"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/validate"
)

// Services has the methods of all services of storefront.v1. The public listener serves them to callers, and the admin
// listener serves them to the operator.
type Services interface {
	storefrontv1connect.StoreServiceHandler
	storefrontv1connect.ProductServiceHandler
	storefrontv1connect.OrderServiceHandler
	storefrontv1connect.CustomerServiceHandler
	storefrontv1connect.PaymentLinkServiceHandler
}

var _ Services = (*Shop)(nil)

// Options are the platform's choices for all stores. With the zero value, stores are reached under DefaultPublicURL and payment
// links may be created.
type Options struct {
	// PaymentLinksOff turns off the creation of payment links in every store.
	PaymentLinksOff bool
	// PublicURL is the base of a store's address: a store that sets no address gets PublicURL with its slug appended. Empty
	// means DefaultPublicURL.
	PublicURL string
	// Buckets are the installation's buckets: CreateStore puts each store into one of them.
	Buckets tenant.Buckets
}

// DefaultPublicURL is the base of stores' addresses if Options.PublicURL is empty.
const DefaultPublicURL = "http://localhost:3000"

// Shop has the operations on stores' data. Goroutines may share it.
type Shop struct {
	db      *db.DB
	counts  *count.Counts
	options Options
}

// New returns a shop for a database.
func New(d *db.DB, o Options) *Shop {
	if o.PublicURL == "" {
		o.PublicURL = DefaultPublicURL
	}
	return &Shop{db: d, counts: count.New(d), options: o}
}

// problems collects everything that is wrong with a request.
type problems struct{ validate.Problems }

// newProblems returns the problems that a request has before the rules: the fields that could not be decoded.
func newProblems(ctx context.Context) *problems { return &problems{*validate.NewProblems(ctx)} }
