package queue

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// lanesSQLite are the ids of the first delivery of each lane, and a null at the end.
const lanesSQLite = `lanes (id) AS (
 SELECT (SELECT id FROM deliveries ORDER BY store_id, webhook_id, retry, due_at, id LIMIT 1)
 UNION ALL
 SELECT (SELECT d.id FROM deliveries d WHERE (d.store_id, d.webhook_id, d.retry) > (p.store_id, p.webhook_id, p.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at, d.id LIMIT 1) FROM lanes l JOIN deliveries p ON p.id = l.id)`

const relapsedSQLite = `UPDATE webhooks SET failing_since = $1 WHERE enabled AND id IN (SELECT value FROM json_each($2))`

// sqlite's times are those of the store's clock, in milliseconds. It has a single writer and so
// needs no locks of rows.
var sqlite = &dialect{
	moment:      "$%d",
	later:       "$1 + $2",
	byAnyColumn: "+",

	take: `SELECT t.id, t.event_id, t.store_id, t.type, w.id, w.url, w.secret, w.secret_key, w.epoch, w.epoch_since, e.payload, e.request_id, e.trace
 FROM (SELECT * FROM outbox WHERE id > $1 ORDER BY id LIMIT $2) t
 LEFT JOIN webhooks w ON w.store_id = t.store_id AND w.enabled
  AND EXISTS (SELECT 1 FROM json_each(w.events) s WHERE s.value = t.type)
 LEFT JOIN events e ON e.id = t.event_id
 ORDER BY t.id, w.id`,
	// Nothing was added below the highest: there is one writer, and it is the transaction that took them.
	drop: `DELETE FROM outbox WHERE id <= $1`,

	insert: `INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, lease, attempts, created_at, epoch)
SELECT r.value->>'id', r.value->>'store_id', r.value->>'webhook_id', r.value->>'event_id', r.value->>'event_type', false,
 max($1, COALESCE((SELECT w.epoch_since FROM webhooks w WHERE w.id = r.value->>'webhook_id'), 0)) + iif(r.value->>'lease' IS NULL, 0, $2),
 r.value->>'lease', CAST('[]' AS BLOB), $3,
 COALESCE(r.value->>'epoch', (SELECT w.epoch FROM webhooks w WHERE w.id = r.value->>'webhook_id'), 0)
 FROM json_each($4) r`,

	dueSince: `SELECT NULL, store_id, webhook_id, retry, NULL FROM deliveries WHERE due_at > $2 AND due_at <= $1
 GROUP BY store_id, webhook_id, retry`,
	due: `WITH RECURSIVE ` + lanesSQLite + `
SELECT NULL, d.store_id, d.webhook_id, d.retry, NULL FROM lanes l JOIN deliveries d ON d.id = l.id WHERE d.due_at <= $1`,

	end: []string{
		`INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, r.value->>'status', CAST(r.value->>'attempts' AS BLOB), d.created_at, $1
 FROM json_each($2) r JOIN deliveries d ON d.id = r.value->>'id' AND d.lease = r.value->>'lease'`,
		`DELETE FROM deliveries WHERE id IN (
 SELECT d.id FROM json_each($2) r JOIN deliveries d ON d.id = r.value->>'id' AND d.lease = r.value->>'lease')`,
	},
	wait: `UPDATE deliveries SET retry = true, lease = NULL, attempts = CAST(r.value->>'attempts' AS BLOB),
 due_at = $1 + (r.value->>'delay')
 FROM json_each($2) r WHERE deliveries.id = r.value->>'id' AND deliveries.lease = r.value->>'lease'`,
	release: `UPDATE deliveries SET lease = NULL, due_at = $1
 FROM json_each($2) r WHERE deliveries.id = r.value->>'id' AND deliveries.lease = r.value->>'lease'`,

	health: `SELECT id, COALESCE(failing_since <= $1 - $2, false), epoch
 FROM webhooks WHERE enabled AND id IN (SELECT value FROM json_each($3))`,
	relapsed: relapsedSQLite,
	failing:  relapsedSQLite + ` AND failing_since IS NULL`,
	healthy:  `UPDATE webhooks SET failing_since = NULL WHERE failing_since IS NOT NULL AND id IN (SELECT value FROM json_each($2))`,

	missed: `WITH RECURSIVE ` + lanesSQLite + `
SELECT d.store_id, d.webhook_id, d.epoch FROM lanes l JOIN deliveries d ON d.id = l.id WHERE (d.lease IS NULL OR d.due_at <= $1)` + andMissed,

	// Two holds of one millisecond are two.
	hold: `UPDATE resends SET due_at = max($1 + $2, due_at + 1) WHERE id = $3 RETURNING due_at`,

	webhookOf: "webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND " + current,
	ended: func(status, which string, before int) string {
		older := ""
		if before > 0 {
			older = " AND d.id < $" + strconv.Itoa(before)
		}
		return endedColumns + " WHERE store_id = $1 AND status = '" + status + "'" + which + older + " ORDER BY id DESC"
	},

	// The embedded database has no more than one machine's work, and reads it off the index.
	backlog: `SELECT (SELECT event_id FROM outbox ORDER BY id LIMIT 1),
 (SELECT count(*) FROM (SELECT id FROM outbox ORDER BY id LIMIT 10000)),
 (SELECT count(*) FROM (SELECT d.id FROM webhooks w CROSS JOIN deliveries d ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.retry = false
  AND d.due_at >= COALESCE(w.epoch_since, 0) WHERE w.enabled LIMIT 10000)),
 (SELECT count(*) FROM (SELECT d.id FROM webhooks w CROSS JOIN deliveries d ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.retry = true
  AND d.due_at >= COALESCE(w.epoch_since, 0) WHERE w.enabled LIMIT 10000))`,

	contains: "instr(lower(CAST(payload AS TEXT)), lower($5)) > 0",
	search:   searchSQLite,
	claim:    claimSQLite,
	movePage: movePageSQLite,
	mark: func(ctx context.Context, on execer, statement string, at any, webhooks []uuid.UUID) ([]uuid.UUID, error) {
		_, err := write(ctx, on, statement, at, webhooks)
		return nil, err // nobody else holds a row
	},
	together: func(ctx context.Context, q *Queue, write func(execer) error) error {
		return q.inTx(ctx, func(tx *sql.Tx) error { return write(tx) })
	},
}

// searchSQLite looks before it takes: looking costs nothing, and beginning to write makes others
// wait.
func searchSQLite(ctx context.Context, q *Queue) (after int64, found bool, err error) {
	err = q.db.Reader().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM outbox)`).Scan(&found)
	return 0, found, err
}

const (
	// The lease is the same for all rows of a claim; a token need only differ from those before.
	leaseSQLite = `UPDATE deliveries SET lease = $1, due_at = $2 WHERE id IN (
 SELECT id FROM deliveries WHERE store_id = $3 AND webhook_id = $4 AND retry = $5 AND due_at <= $7
  AND due_at >= (SELECT COALESCE(epoch_since, $6) FROM webhooks WHERE store_id = $3 AND id = $4 AND enabled)
 ORDER BY due_at, id LIMIT $8)`

	leasedSQLite = `SELECT d.id, d.lease, d.store_id, d.webhook_id, d.retry, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch, d.created_at,
 COALESCE(w.enabled, false), w.url, w.secret, w.secret_key, e.payload, e.request_id, e.trace
 FROM deliveries d
 LEFT JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + `
 LEFT JOIN events e ON e.id = d.event_id
 WHERE d.store_id = $1 AND d.webhook_id = $2 AND d.retry = $3 AND d.due_at = $4 AND d.lease = $5
 ORDER BY d.id`
)

// claimSQLite claims one lane after the other in one transaction.
func claimSQLite(ctx context.Context, q *Queue, wants []Want, lease time.Duration, done *Claimed) error {
	return q.inTx(ctx, func(tx *sql.Tx) error {
		now := q.db.Now()
		token, until := uuid.New(), now.Add(lease)
		for _, w := range wants {
			n, err := affected(tx.ExecContext(ctx, leaseSQLite, token, until, w.StoreID, w.WebhookID, w.Retry, time.Unix(0, 0), now, w.Max))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := done.scan(db.Rows(ctx, tx, leasedSQLite, w.StoreID, w.WebhookID, w.Retry, until, token)); err != nil {
				return err
			}
		}
		return nil
	})
}

var pageSQLite = `SELECT d.id, d.retry, d.due_at, w.id IS NULL, d.lease IS NULL OR d.due_at <= $1 FROM (
  SELECT * FROM deliveries WHERE store_id = $2 AND webhook_id = $3 AND (retry, due_at, id) > ($4, $5, $6)
  ORDER BY retry, due_at, id LIMIT ` + strconv.Itoa(cancelBatch) + `) d
 LEFT JOIN webhooks w ON w.store_id = $2 AND w.id = $3 AND ` + current + ` ORDER BY d.retry, d.due_at, d.id`

const (
	copyCancelledSQLite = `INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
 SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, max(created_at, COALESCE(` + cancelledAt + `, $1))
 FROM deliveries d WHERE id IN (SELECT value FROM json_each($2))`
	deleteCancelledSQLite = `DELETE FROM deliveries WHERE id IN (SELECT value FROM json_each($1))`
)

func movePageSQLite(ctx context.Context, tx *sql.Tx, now any, c cancellation) (found looked, err error) {
	var free []uuid.UUID
	for row := range db.Rows(ctx, tx, pageSQLite, now, c.storeID, c.webhookID, c.position.retry, c.position.due, c.position.id) {
		var isCancelled, isFree bool
		if err := row.Scan(&found.last.id, &found.last.retry, &found.last.due, &isCancelled, &isFree); err != nil {
			return found, err
		}
		found.rows++
		if isCancelled {
			found.cancelled++
			if isFree {
				free = append(free, found.last.id)
			}
		}
	}
	if len(free) == 0 {
		return found, nil
	}
	found.moved = int64(len(free))
	set, err := rowset(free)
	if err != nil {
		return found, err
	}
	if _, err := tx.ExecContext(ctx, copyCancelledSQLite, c.at, set); err != nil {
		return found, err
	}
	_, err = tx.ExecContext(ctx, deleteCancelledSQLite, set)
	return found, err
}
