package erase

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/gen/ent/store"
)

// storeRows is how many rows one transaction deletes.
const storeRows = 50

// storeTables comes in the order of deletion, a table before those to which its rows refer. Sessions, sign-in links and
// webhooks come first, so that no member and no worker adds rows to the rest.
var storeTables = []string{
	"sessions", "sign_in_links", "webhooks", "deliveries", "finished_deliveries", "resends", "rate_counters", "api_keys",
	"refused_requests", "tallies", "idempotency_keys", "forgettings", "order_items", "orders", "customers", "payment_links",
	"products", "events", "activity_entries",
}

// DueStores lists the stores whose data must be deleted now.
func DueStores(ctx context.Context, d *db.DB) ([]uuid.UUID, error) {
	found, err := d.Client().Store.Query().Where(d.IsPast(store.FieldDeleteAt)).Order(store.ByDeleteAt()).Limit(10).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for stores to delete: %w", err)
	}
	return found, nil
}

// Store deletes all data of a store that is due, and finally its row, while the service runs. If it fails, another call
// continues; several may run at once. At the end it empties SQLite's log, unless a reader prevents that.
func Store(ctx context.Context, d *db.DB, storeID uuid.UUID) error {
	begun, err := begin(ctx, d, storeID)
	if err != nil || !begun {
		return err
	}
	// Each deletion in the other tables changes the counts. On SQLite row_deltas is a view, and there is no outbox.
	tables := append(slices.Clone(storeTables),
		db.ByDialect(d, []string{"outbox", "row_deltas", "row_counts"}, []string{"row_counts"})...)
	if err := d.WithoutForeignKeys(func(writer *sql.DB) (err error) {
		for found := int64(-1); found != 0 && err == nil; {
			found, err = deleteAll(ctx, d, writer, storeID, tables)
		}
		return err
	}); err != nil {
		return fmt.Errorf("delete store %s: %w", storeID, err)
	}
	if err := hook.Run(ctx, d, func(c *hook.Change) error {
		// If several calls run at once, only one of them finds the store here.
		found, err := hook.LockIDs(c, c.Tx.Store.Query().Where(store.ID(storeID), store.DeletionBeganAtNotNil()))
		if err != nil || len(found) == 0 {
			return err
		}
		if err := notice.Write(c, d, c.Tx, c.Time(), notice.Notice{Type: notice.StoreDeleted, StoreID: storeID}); err != nil {
			return err
		}
		_, err = c.Tx.ExecContext(c, "DELETE FROM stores WHERE id = $1", storeID)
		return err
	}); err != nil {
		return err
	}
	_, err = eraser{d}.emptyLog(ctx)
	return err
}

// begin marks a store before any of its rows is deleted. begun is false if it must not be deleted. A restoration locks the same
// row, so either it commits first and nothing is deleted, or it fails.
func begin(ctx context.Context, d *db.DB, storeID uuid.UUID) (begun bool, err error) {
	begun, err = hook.Answer(ctx, d, func(c *hook.Change) (bool, error) {
		// A store whose deletion has begun is due even if the clock has been set back since.
		due := store.Or(store.DeletionBeganAtNotNil(), d.IsPast(store.FieldDeleteAt))
		found, err := hook.LockIDs(c, c.Tx.Store.Query().Where(store.ID(storeID), due))
		if err != nil || len(found) == 0 {
			return false, err
		}
		_, err = c.Tx.ExecContext(c, "UPDATE stores SET deletion_began_at = $1 WHERE id = $2 AND deletion_began_at IS NULL",
			d.Now(), storeID)
		return true, err
	})
	if err != nil {
		return false, fmt.Errorf("begin to delete store %s: %w", storeID, err)
	}
	return begun, nil
}

// deleteAll deletes from each of the tables, in order. It returns 0 if the store is no longer to be deleted.
func deleteAll(ctx context.Context, d *db.DB, writer *sql.DB, storeID uuid.UUID, tables []string) (rows int64, err error) {
	for _, table := range tables {
		key, condition := "id", "store_id = $1"
		switch table {
		case "rate_counters":
			condition = "id IN (SELECT id FROM api_keys WHERE store_id = $1)"
		case "row_deltas", "row_counts":
			key = "kind" // these tables have few rows and no ids
		}
		statement := "DELETE FROM " + table + " WHERE " + condition + " AND " + key + " IN (SELECT " + key + " FROM " + table +
			" WHERE " + condition + " LIMIT $2)"
		for n := int64(storeRows); n >= storeRows; rows += n {
			ordered, err := d.Client().Store.Query().Where(store.ID(storeID), store.DeletionBeganAtNotNil()).Exist(ctx)
			if err != nil {
				return rows, fmt.Errorf("look whether the store is to be deleted: %w", err)
			}
			if !ordered {
				return 0, nil
			}
			began := time.Now()
			result, err := writer.ExecContext(ctx, statement, storeID, storeRows)
			if err == nil {
				n, err = result.RowsAffected()
			}
			if err != nil {
				return rows, fmt.Errorf("%s: %w", table, err)
			}
			if n == 0 {
				break
			}
			if err := pauseAfter(ctx, began); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}
