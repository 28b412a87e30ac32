package db

import (
	"context"
	"database/sql"
	"fmt"

	"go.storefront.example/gen/ent"
)

// Snapshot runs fn in a transaction that only reads and sees the database as of its first statement, however long it lasts.
// Nobody waits for it. On PostgreSQL it is a repeatable read, which keeps vacuum from removing rows deleted since. On SQLite it
// is a read transaction, which keeps the write-ahead log from starting over; kind is the kind of reader that EmptyLog reports
// for it.
func (d *DB) Snapshot(ctx context.Context, kind string, fn func(ctx context.Context, tx *ent.Tx) error) error {
	defer d.markReader(ctx, kind)()
	tx, err := d.client.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // The error is ignored: nothing was changed.
	return fn(ctx, tx)
}
