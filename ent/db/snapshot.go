package db

import (
	"context"
	"database/sql"
	"fmt"

	"go.storefront.example/gen/ent"
)

// Snapshot runs fn in a transaction that only reads, sees the database as of its first statement and delays no writer.
// Meanwhile VACUUM on PostgreSQL cannot remove newly deleted rows, SQLite's write-ahead log grows, and EmptyLog returns kind,
// such as ReaderExport.
func (d *DB) Snapshot(ctx context.Context, kind string, fn func(ctx context.Context, tx *ent.Tx) error) error {
	defer d.markReader(ctx, kind)()
	tx, err := d.client.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // Nothing was changed.
	return fn(ctx, tx)
}
