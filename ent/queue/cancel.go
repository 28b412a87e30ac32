package queue

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/store"
	"go.storefront.example/gen/ent"
)

const (
	finishedColumns = `finished_deliveries
 (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)`

	cancelPostgres = `WITH ended AS (
 DELETE FROM deliveries WHERE store_id = $1 AND webhook_id = $2 AND (lease IS NULL OR due_at <= COALESCE($3::timestamptz, now()))
 RETURNING id, store_id, webhook_id, event_id, event_type, attempts, created_at
) INSERT INTO ` + finishedColumns + `
 SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, $4 FROM ended`

	// SQLite has one writer, so that two statements see the same rows.
	waitingSQLite = ` FROM deliveries WHERE store_id = $1 AND webhook_id = $2 AND (lease IS NULL OR due_at <= $3)`
	copySQLite    = `INSERT INTO ` + finishedColumns + `
 SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, $4` + waitingSQLite
	deleteSQLite = `DELETE` + waitingSQLite
)

// Cancel ends what waits for a webhook as cancelled and returns how many deliveries that were: all
// that no worker makes an attempt of just now, those included whose worker has died. A delivery
// under a running lease is left to its worker, who ends it when the attempt does. The caller
// has taken the webhook's row for this transaction and disables or deletes it.
func Cancel(ctx context.Context, tx *ent.Tx, s *store.Store, storeID, webhookID uuid.UUID) (int, error) {
	statement := cancelPostgres
	if s.Dialect() == dialect.SQLite {
		statement = copySQLite
	}
	moment := s.Moment()
	result, err := tx.ExecContext(ctx, statement, storeID, webhookID, moment, hook.Time(ctx))
	if err != nil {
		return 0, fmt.Errorf("cancel deliveries: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("cancel deliveries: %w", err)
	}
	if s.Dialect() == dialect.SQLite {
		if _, err := tx.ExecContext(ctx, deleteSQLite, storeID, webhookID, moment); err != nil {
			return 0, fmt.Errorf("cancel deliveries: %w", err)
		}
	}
	return int(n), nil
}
