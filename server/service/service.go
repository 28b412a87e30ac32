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

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
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
	return &Shop{store: s, options: o}
}

// DisableAfter is after how long without a success a failing webhook is disabled.
func (s *Shop) DisableAfter() time.Duration { return s.options.DisableAfter }

// raceAttempts bounds how often a change is run anew after another one took the same unique
// value first. The first repetition already sees the winner's row.
const raceAttempts = 5

// withTx runs a change in a transaction, and runs it anew when it lost a race for a unique value.
func (s *Shop) withTx(ctx context.Context, change func(ctx context.Context, tx *ent.Tx) error) error {
	var err error
	for range raceAttempts {
		if err = s.store.WithTx(ctx, change); !db.IsUnique(err) {
			return err
		}
	}
	return fmt.Errorf("lost the race for a unique value %d times: %w", raceAttempts, err)
}

// lock makes a query take its rows for the rest of the transaction. SQLite has a single writer
// and needs no locks of rows. No row's id changes, so new rows that refer to one need not wait for
// whoever holds it: a key's creation, which holds its store, would else hold up every order.
func lock[Q interface {
	ForUpdate(opts ...sql.LockOption) Q
}](s *Shop, q Q) Q {
	if s.store.Dialect() == dialect.Postgres {
		return q.ForUpdate(sql.WithLockClause("FOR NO KEY UPDATE"))
	}
	return q
}

// query is a query of rows of one type that can take them.
type query[Q any, R ent.Value] interface {
	ForUpdate(opts ...sql.LockOption) Q
	Only(ctx context.Context) (R, error)
	All(ctx context.Context) ([]R, error)
}

// take reads a row and holds it for the rest of the transaction, whose time then lies behind it.
// Every row that a transaction changes is taken before it asks for its time (hook.Time), in the
// order of store, order, customer, payment link; a product, a key and a webhook are taken alone. So
// nobody waits in a circle, and the times of a row follow the order of the commits.
func take[Q query[Q, R], R ent.Value](ctx context.Context, s *Shop, q Q) (R, error) {
	row, err := lock(s, q).Only(ctx)
	if err != nil {
		return row, err
	}
	return row, hook.Hold(ctx, row)
}

// takeAll is take for any number of rows, in the order of the query.
func takeAll[Q query[Q, R], R ent.Value](ctx context.Context, s *Shop, q Q) ([]R, error) {
	rows, err := lock(s, q).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := hook.Hold(ctx, row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

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

// parseID reads a UUID in its usual form of 36 characters, in either case; no other form
// names a resource.
func parseID(text string) (uuid.UUID, bool) {
	if len(text) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}
