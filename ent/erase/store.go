package erase

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
)

const (
	// storeRows is how many rows of a store one transaction deletes, and restFactor for how many times as long as that took
	// the others have the database: no writer of another store waits for long.
	storeRows  = 50
	restFactor = 2
	restLeast  = 5 * time.Millisecond
)

// owned are the tables of what a store has, with those first whose rows refer to others. What lets somebody in or out comes
// before all, so that nothing is added any more.
var owned = []string{
	"sessions", "sign_in_links", "webhooks", "outbox", "deliveries", "finished_deliveries", "resends", "rate_counters", "api_keys",
	"refused_requests", "tallies", "idempotency_keys", "forgettings", "order_items", "orders", "customers", "payment_links",
	"products", "events", "activity_entries",
}

// DueStores lists stores whose data is to be deleted now.
func DueStores(ctx context.Context, s *db.DB) ([]uuid.UUID, error) {
	found, err := s.Client().Store.Query().Where(store.DeleteAtLTE(s.Now())).Order(store.ByDeleteAt()).Limit(10).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for stores to delete: %w", err)
	}
	return found, nil
}

// Store deletes all that a store has, and at last the store, beside a running service. After an error the next call goes on.
// Several at once do each other no harm.
func Store(ctx context.Context, s *db.DB, storeID uuid.UUID) error {
	// Counts follow from the other rows. On SQLite row_deltas is a view.
	tables := append(slices.Clone(owned), db.ByDialect(s, []string{"row_deltas", "row_counts"}, []string{"row_counts"})...)
	if err := s.WithoutForeignKeys(func(writer *sql.DB) (err error) {
		for found := int64(-1); found != 0 && err == nil; {
			found, err = deleteAll(ctx, writer, storeID, tables)
		}
		return err
	}); err != nil {
		return fmt.Errorf("delete store %s: %w", storeID, err)
	}
	return hook.WithTx(ctx, s, func(ctx context.Context, tx *ent.Tx) error {
		// Of two that delete it one finds it.
		found, err := db.Lock(s, tx.Store.Query().Where(store.ID(storeID), store.DeleteAtLTE(s.Now()))).IDs(ctx)
		if err != nil || len(found) == 0 {
			return err
		}
		if _, err := notice.Write(ctx, tx, hook.Time(ctx), notice.Notice{Type: notice.StoreDeleted, StoreID: storeID,
			Text: "The store and all that it had were deleted, as ordered. It cannot be restored."}); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM stores WHERE id = $1", storeID)
		return err
	})
}

// deleteAll deletes what each of the tables has of a store, in their order, and returns how many rows that were.
func deleteAll(ctx context.Context, writer *sql.DB, storeID uuid.UUID, tables []string) (rows int64, err error) {
	for _, table := range tables {
		statement, key := "delete rows", "id"
		switch table {
		case "rate_counters":
			statement = "delete rate counters"
		case "row_deltas", "row_counts":
			key = "kind" // they are few, without ids
		}
		query := strings.NewReplacer("{table}", table, "{key}", key).Replace(statements[statement])
		for n := int64(storeRows); n >= storeRows; rows += n {
			began := time.Now()
			result, err := writer.ExecContext(ctx, query, storeID, storeRows)
			if err == nil {
				n, err = result.RowsAffected()
			}
			if err != nil {
				return rows, fmt.Errorf("%s: %w", table, err)
			}
			if n == 0 {
				break
			}
			select {
			case <-time.After(max(restLeast, restFactor*time.Since(began))):
			case <-ctx.Done():
				return rows, ctx.Err()
			}
		}
	}
	return rows, nil
}
