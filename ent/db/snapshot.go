package db

import (
	"context"
	"database/sql"
	"fmt"

	"go.storefront.example/gen/ent"
)

// Snapshot runs fn in a transaction that only reads, and sees the database as of its first statement
// however long it lasts. On PostgreSQL it is a repeatable read, which keeps vacuum from removing rows that
// have died since; on SQLite a read transaction, which keeps the write-ahead log from starting over, and which EmptyLog
// calls by the kind. Neither makes anybody wait.
func (d *DB) Snapshot(ctx context.Context, kind string, fn func(ctx context.Context, tx *ent.Tx) error) error {
	defer d.markReader(ctx, kind)()
	tx, err := d.client.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // It has changed nothing.
	return fn(ctx, tx)
}
