// Package service holds what can be done to a store's data and by which rules, whoever asks: an
// API key through /v1 or Connect, or the operator. One file per resource.
//
// Every method takes its store and its actor from the context (tenant.With) and refuses with a
// *refusal.Refusal; any other error is a failure of the service. Every change runs in one
// transaction with its journal entry and its outbox rows. It is independent of HTTP.
package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.storefront.example/ent/count"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/validate"
	"go.storefront.example/worker/egress"
)

// Options are the platform's choices for all stores. The zero value is a platform whose stores
// live under DefaultPublicURL and may create payment links.
type Options struct {
	// PaymentLinksOff closes the creation of payment links for every store.
	PaymentLinksOff bool
	// PublicURL is the address under which a store without an address of its own is reached:
	// the store's slug is appended to it. Empty means DefaultPublicURL.
	PublicURL string
	// Targets opens addresses for webhooks beyond public https ones.
	Targets egress.Policy
	// Secrets seals the signing secrets of webhooks. Without it no webhook can be created and no
	// secret made anew.
	Secrets *seal.Ring
	// DisableAfter is after how long without a success a failing webhook is disabled by the worker;
	// 0 means DefaultDisableAfter. The shop only reports it.
	DisableAfter time.Duration
}

// DefaultPublicURL is the public address setting of a platform that has set none.
const DefaultPublicURL = "http://localhost:3000"

// DefaultDisableAfter is how long a webhook may fail in a row (specification, Limits: three days).
const DefaultDisableAfter = 72 * time.Hour

// Shop carries out what is asked of a store's data. Goroutines may share it.
type Shop struct {
	store   *db.DB
	counts  *count.Counts
	options Options
}

// New returns a shop over the database.
func New(s *db.DB, o Options) *Shop {
	if o.PublicURL == "" {
		o.PublicURL = DefaultPublicURL
	}
	if o.DisableAfter == 0 {
		o.DisableAfter = DefaultDisableAfter
	}
	return &Shop{store: s, counts: count.On(s), options: o}
}

// DisableAfter is after how long without a success a failing webhook is disabled.
func (s *Shop) DisableAfter() time.Duration { return s.options.DisableAfter }

// readError is what a read of one row of a resource ends with: nil, the refusal of a row that is
// not there, or a failure.
func readError(resource string, err error, missing func() error) error {
	switch {
	case err == nil:
		return nil
	case ent.IsNotFound(err):
		return missing()
	default:
		return fmt.Errorf("read %s: %w", resource, err)
	}
}

var errNoTenant = errors.New("the context names no store")

// tenantOf returns the store that the work is done for.
func tenantOf(ctx context.Context) (tenant.Store, error) {
	t, _, ok := tenant.From(ctx)
	if !ok {
		return t, errNoTenant
	}
	return t, nil
}

// problems gathers everything that is wrong with a request.
type problems struct{ validate.Problems }
