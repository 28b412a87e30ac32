package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
)

// firstPause is the longest pause before the second attempt. It doubles with each attempt.
const firstPause = 5 * time.Millisecond

// txKey marks a context as inside a transaction of the database whose clock it has; all nodes of a cluster share it. The mark is in the
// context, because a transaction that begins inside another could wait for it for ever, whatever calls lie between.
type txKey struct{ clock *clock }

// WithTx commits fn's transaction; an error or a panic rolls it back. It writes no journal entries and events: to change a
// store's data use hook.Run.
//
// If the transaction conflicts with another (a serialization failure, a deadlock, a lock on the SQLite file), WithTx runs fn
// again, a bounded number of times. So fn must change nothing outside the transaction. It fails inside another transaction on
// the same database.
func (d *DB) WithTx(ctx context.Context, fn func(ctx context.Context, tx *ent.Tx) error) error {
	if ctx.Value(txKey{d.clock}) != nil {
		return errors.New("a transaction inside a transaction")
	}
	ctx = context.WithValue(ctx, txKey{d.clock}, true)
	for attempt := 1; ; attempt++ {
		err := d.runTx(ctx, fn)
		if err == nil || attempt == d.dialect.attempts || !isRetryable(err) {
			return err
		}
		pause := time.NewTimer(rand.N(firstPause << (attempt - 1)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

func (d *DB) runTx(ctx context.Context, fn func(ctx context.Context, tx *ent.Tx) error) (err error) {
	ctx, transaction := tracing.Child(ctx, "transaction")
	defer func() { tracing.End(transaction, err) }()
	tx, err := d.tx.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin the transaction: %w", err)
	}
	ended := false
	defer func() {
		if !ended {
			// It would hide the original error.
			_ = tx.Rollback()
		}
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit the transaction: %w", err)
	}
	ended = true
	return nil
}
