package db

import (
	"context"
	"database/sql"
	"fmt"

	"go.storefront.example/gen/ent"
)

// Snapshot runs fn in a transaction that only reads. fn sees the database as of its first statement, however long it runs,
// and delays no writer. On PostgreSQL the transaction has the isolation level repeatable read, and VACUUM cannot remove rows
// that are deleted meanwhile. On SQLite the write-ahead log grows meanwhile, and EmptyLog returns kind, such as
// ReaderExport, as the kind of its reader.
func (d *DB) Snapshot(ctx context.Context, kind string, fn func(ctx context.Context, tx *ent.Tx) error) error {
	defer d.markReader(ctx, kind)()
	tx, err := d.client.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // The error is ignored: nothing was changed.
	return fn(ctx, tx)
}
