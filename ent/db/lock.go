package db

import (
	"context"
	"fmt"

	entdialect "entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

// raceAttempts bounds how often a change is run anew after another one took the same unique
// value first. The first repetition already sees the winner's row.
const raceAttempts = 5

// Change runs a change in a transaction (WithTx), and runs it anew when it lost a race for a unique
// value.
func (s *DB) Change(ctx context.Context, change func(ctx context.Context, tx *ent.Tx) error) error {
	var err error
	for range raceAttempts {
		if err = s.WithTx(ctx, change); !IsUnique(err) {
			return err
		}
	}
	return fmt.Errorf("lost the race for a unique value %d times: %w", raceAttempts, err)
}

// Lock makes a query take its rows for the rest of the transaction. SQLite has a single writer
// and needs no locks of rows. No row's id changes, so new rows that refer to one need not wait for
// whoever holds it: a key's creation, which holds its store, would else hold up every order.
func Lock[Q interface {
	ForUpdate(opts ...sql.LockOption) Q
}](s *DB, q Q) Q {
	if s.Dialect() == entdialect.Postgres {
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

// Take reads a row and holds it for the rest of the transaction, whose time then lies behind it.
// Every row that a transaction changes is taken before it asks for its time (hook.Time), in the
// order of store, order, customer, payment link; a product, a key and a webhook are taken alone. So
// nobody waits in a circle, and the times of a row follow the order of the commits.
func Take[Q query[Q, R], R ent.Value](ctx context.Context, s *DB, q Q) (R, error) {
	row, err := Lock(s, q).Only(ctx)
	if err != nil {
		return row, err
	}
	return row, hook.Hold(ctx, row)
}

// TakeAll is Take for any number of rows, in the order of the query.
func TakeAll[Q query[Q, R], R ent.Value](ctx context.Context, s *DB, q Q) ([]R, error) {
	rows, err := Lock(s, q).All(ctx)
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
