// Package webhooks holds the rules of a store's webhooks and of their deliveries: who may be sent
// what, which deliveries are listed, and what is sent again. ent/queue keeps the deliveries, and a
// worker makes the attempts.
//
// Every method takes its store and its actor from the context (tenant.With) and refuses with an
// *apierr.Refusal; any other error is a failure of the service.
package webhooks

import (
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/worker/egress"
)

// Options are the platform's choices for the webhooks of all stores.
type Options struct {
	// Targets opens addresses for webhooks beyond public https ones.
	Targets egress.Policy
	// Secrets seals the signing secrets of webhooks. Without it no webhook can be created and no
	// secret made anew.
	Secrets *seal.Keyring
	// DisableAfter is after how long without a success a failing webhook is disabled by the worker;
	// 0 means DefaultDisableAfter. It is only reported here.
	DisableAfter time.Duration
}

// DefaultDisableAfter is how long a webhook may fail in a row (specification, Limits: three days).
const DefaultDisableAfter = 72 * time.Hour

// Webhooks carries out what is asked of a store's webhooks and deliveries. Goroutines may share it.
type Webhooks struct {
	db      *db.DB
	options Options
}

// New returns the webhooks of the stores on a database.
func New(s *db.DB, o Options) *Webhooks {
	if o.DisableAfter == 0 {
		o.DisableAfter = DefaultDisableAfter
	}
	return &Webhooks{db: s, options: o}
}

// DisableAfter is after how long without a success a failing webhook is disabled.
func (w *Webhooks) DisableAfter() time.Duration { return w.options.DisableAfter }
