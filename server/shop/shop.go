// Package shop has the rules of a store's data and API keys, for every kind of caller, with one file for each resource. An
// update reads from top to bottom in one function: lock, merge, rules, save.
//
// Every method takes its store and its actor from the context's call (package tenant) and refuses with an *apierr.Refusal; any
// other error is a failure of the service. The codes are in the comments of the protos.
package shop

import (
	"context"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/validate"
)

// Services are those of storefront.v1, which both listeners serve.
type Services interface {
	storefrontv1connect.StoreServiceHandler
	storefrontv1connect.ProductServiceHandler
	storefrontv1connect.OrderServiceHandler
	storefrontv1connect.CustomerServiceHandler
	storefrontv1connect.PaymentLinkServiceHandler
}

var _ Services = (*Shop)(nil)

// Options are the platform's choices for all stores.
type Options struct {
	// PaymentLinksOff turns off the creation of payment links in every store.
	PaymentLinksOff bool
	// PublicURL, with the slug appended, is the address of a store that sets none; "" means DefaultPublicURL.
	PublicURL string
	// Buckets are the installation's buckets: CreateStore puts each store into one of them.
	Buckets tenant.Buckets
}

// DefaultPublicURL is the default of Options.PublicURL.
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
