package db

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/ent/dialect/sql"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

// raceAttempts bounds how often a change is repeated after another one stored the same unique
// value first. The first repetition already reads that row.
const raceAttempts = 5

// Change runs a change in a transaction (WithTx), and repeats it if another transaction has stored the
// same unique value first.
func (s *DB) Change(ctx context.Context, change func(ctx context.Context, tx *ent.Tx) error) error {
	var err error
	for range raceAttempts {
		if err = s.WithTx(ctx, change); !IsUnique(err) {
			return err
		}
	}
	return fmt.Errorf("lost the race for a unique value %d times: %w", raceAttempts, err)
}

// RowLock ends a SELECT whose rows, those of the tables that follow it as in " OF o", are locked for the rest of the
// transaction. SQLite has a single writer and needs no row locks: it is empty there. The lock lets others insert rows that
// refer to a locked one, because no id ever changes: otherwise creating a key, which locks its store, would make every order
// of the store wait.
func (s *DB) RowLock(of string) string {
	if s.dialect.rowLock == "" {
		return ""
	}
	return s.dialect.rowLock + of
}

// SkipLocked makes a lock pass over rows that another transaction has locked.
const SkipLocked = " SKIP LOCKED"

// Lock makes a query lock its rows for the rest of the transaction (RowLock); how may be SkipLocked.
func Lock[Q interface {
	ForUpdate(opts ...sql.LockOption) Q
}](s *DB, q Q, how ...string) Q {
	if clause := s.RowLock(strings.Join(how, "")); clause != "" {
		return q.ForUpdate(sql.WithLockClause(clause))
	}
	return q
}

// query is a query of rows of one type that can lock them.
type query[Q any, R ent.Value] interface {
	ForUpdate(opts ...sql.LockOption) Q
	Only(ctx context.Context) (R, error)
	All(ctx context.Context) ([]R, error)
}

// LockRow locks a row for the rest of the transaction, which may then change it, and reads it. A transaction
// locks every row that it changes before it asks for the time (hook.Time), in the order store, order, customer,
// payment link; it locks no other row beside a product, a key or a webhook. So transactions never deadlock.
func LockRow[Q query[Q, R], R ent.Value](ctx context.Context, s *DB, q Q, how ...string) (R, error) {
	row, err := Lock(s, q, how...).Only(ctx)
	if err != nil {
		return row, err
	}
	return row, hook.NoteLocked(ctx, row)
}

// LockRows is LockRow for any number of rows, in the order of the query.
func LockRows[Q query[Q, R], R ent.Value](ctx context.Context, s *DB, q Q) ([]R, error) {
	rows, err := Lock(s, q).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if err := hook.NoteLocked(ctx, row); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
