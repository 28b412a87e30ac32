// Package webhooks has the rules of a store's webhooks and deliveries: which webhooks are allowed, which deliveries are listed,
// and which are sent again. ent/queue stores the deliveries, and a worker makes the attempts.
//
// Every method takes its store and its actor from the context (tenant.With) and refuses with an *apierr.Refusal; any other
// error is a failure of the service.
package webhooks

import (
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/worker/egress"
)

// Options are the platform's choices for the webhooks of all stores.
type Options struct {
	// Targets allows webhooks with addresses other than public https addresses.
	Targets egress.Policy
	// Secrets seals the signing secrets. If it is nil, no webhook can be created and no secret rotated.
	Secrets *seal.Keyring
	// DisableAfter is how long a webhook may fail without a success before a worker disables it; 0 means DefaultDisableAfter.
	// This package does not use it, and only returns it from the method DisableAfter.
	DisableAfter time.Duration
}

// DefaultDisableAfter is how long a webhook may fail without a success (specification, Limits: three days).
const DefaultDisableAfter = 72 * time.Hour

// Webhooks has the operations on webhooks and deliveries. Goroutines may share it.
type Webhooks struct {
	db      *db.DB
	options Options
}

// New returns the operations on the webhooks in a database.
func New(d *db.DB, o Options) *Webhooks {
	if o.DisableAfter == 0 {
		o.DisableAfter = DefaultDisableAfter
	}
	return &Webhooks{db: d, options: o}
}

// DisableAfter returns how long a webhook may fail without a success before a worker disables it.
func (w *Webhooks) DisableAfter() time.Duration { return w.options.DisableAfter }
