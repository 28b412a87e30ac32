package erase

import (
	"context"
	"database/sql"
	"fmt"
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
	"sessions", "sign_in_links", "webhooks", "outbox", "deliveries", "finished_deliveries", "resends", "api_keys",
	"refused_requests",
	"tallies", "idempotency_keys", "forgettings", "order_items", "orders", "customers", "payment_links", "products", "events",
	"activity_entries",
}

// counted are the tables of a store's counts, which have few rows and no ids. On SQLite the second is a view.
func counted(s *db.DB) []string {
	return db.Of(s, []string{"row_deltas", "row_counts"}, []string{"row_counts"})
}

// DueStores lists stores whose data is to be deleted now.
func DueStores(ctx context.Context, s *db.DB) (found []uuid.UUID, err error) {
	for row := range db.Rows(ctx, s.Reader(), statements["due stores"], s.TimeArg()) {
		var id uuid.UUID
		if err := row.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for stores to delete: %w", err)
		}
		found = append(found, id)
	}
	return found, nil
}

// Store deletes all that a store has, and at last the store, beside a running service. After an error the next call goes on.
// Several at once do each other no harm.
func Store(ctx context.Context, s *db.DB, storeID uuid.UUID) error {
	if err := s.WithoutKeys(func(writer *sql.DB) (err error) {
		for found := int64(-1); found != 0 && err == nil; {
			found, err = deleteAll(ctx, s, writer, storeID, owned, counted(s))
		}
		return err
	}); err != nil {
		return fmt.Errorf("delete store %s: %w", storeID, err)
	}
	return s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		// Of two that delete it one finds it.
		row, err := db.Lock(s, tx.Store.Query().Where(store.ID(storeID))).Only(ctx)
		if ent.IsNotFound(err) || err == nil && row.DeleteAt == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := notice.Write(ctx, tx, hook.Time(ctx), notice.Notice{Type: notice.StoreDeleted, StoreID: storeID,
			Text: "The store and all that it had were deleted, as ordered. It cannot be restored."}); err != nil {
			return err
		}
		_, err = on{s}.exec(ctx, tx, "delete store", storeID, s.TimeArg())
		return err
	})
}

// Queue deletes what waits to be sent for a store, beside a running service.
func Queue(ctx context.Context, s *db.DB, storeID uuid.UUID) error {
	_, err := deleteAll(ctx, s, s.Writer(), storeID, []string{"outbox", "deliveries", "resends"}, nil)
	return err
}

// deleteAll deletes what each of the tables, and of those of counts, has of a store, in their order, and returns how many rows
// that were.
func deleteAll(ctx context.Context, s *db.DB, writer *sql.DB, storeID uuid.UUID, tables, counts []string) (rows int64,
	err error) {
	remove := func(statement, table string, args ...any) (int64, error) {
		began := time.Now()
		result, err := writer.ExecContext(ctx, strings.ReplaceAll(statements[statement], "{table}", table),
			append([]any{storeID}, args...)...)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", table, err)
		}
		n, err := result.RowsAffected()
		rows += n
		if n > 0 && err == nil {
			select {
			case <-time.After(max(restLeast, restFactor*time.Since(began))):
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return n, err
	}
	for _, table := range tables {
		if table == "api_keys" {
			if _, err := remove("delete rate counters", "rate_counters"); err != nil {
				return rows, err
			}
		}
		for n := int64(storeRows); n == storeRows; {
			if n, err = remove("delete rows", table, storeRows); err != nil {
				return rows, err
			}
		}
	}
	for _, table := range counts {
		if _, err := remove("delete counts", table); err != nil {
			return rows, err
		}
	}
	return rows, nil
}
