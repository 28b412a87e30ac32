package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

const (
	// What became due in a span is read off the index of due times.
	dueSincePostgres = `SELECT n.at, d.store_id, d.webhook_id, d.retry FROM (SELECT ` + present + ` AS at) n LEFT JOIN (
 SELECT DISTINCT store_id, webhook_id, retry FROM (
  SELECT store_id, webhook_id, retry FROM deliveries WHERE due_at > $2 AND due_at <= ` + present + ` ORDER BY due_at OFFSET 0) s
 ) d ON true`

	// All lanes are found by leaping from one to the next along their index, however much is in
	// each.
	duePostgres = `WITH RECURSIVE lanes AS (
 (SELECT store_id, webhook_id FROM deliveries ORDER BY store_id, webhook_id LIMIT 1)
 UNION ALL
 SELECT n.store_id, n.webhook_id FROM lanes l CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id FROM deliveries d
  WHERE (d.store_id, d.webhook_id) > (l.store_id, l.webhook_id) ORDER BY d.store_id, d.webhook_id LIMIT 1) n)
SELECT n.at, d.store_id, d.webhook_id, d.retry FROM (SELECT ` + present + ` AS at) n LEFT JOIN (
 SELECT l.store_id, l.webhook_id, r.retry FROM lanes l CROSS JOIN (VALUES (false), (true)) AS r(retry)
 CROSS JOIN LATERAL (
  SELECT d.* FROM deliveries d WHERE (d.store_id, d.webhook_id, d.retry) >= (l.store_id, l.webhook_id, r.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at LIMIT 1) first
 WHERE first.store_id = l.store_id AND first.webhook_id = l.webhook_id AND first.retry = r.retry AND first.due_at <= ` + present + `) d ON true`

	dueSQLite = `SELECT NULL, store_id, webhook_id, retry FROM deliveries WHERE due_at > $1 AND due_at <= $2
 GROUP BY store_id, webhook_id, retry`
)

// Due returns the lanes in which something became due since it was last asked: retries whose time
// has come, leases that ended, what other workers left waiting. At the first call, and from time to
// time, it returns every lane in which anything is due, and tells so.
func (q *Queue) Due(ctx context.Context) (lanes []Lane, all bool, err error) {
	now := q.store.Now()
	since := q.due.at.Add(-farReach)
	all = q.due.at.IsZero() || !now.Before(q.due.full.Add(fullInterval)) || now.Before(q.due.full)
	var rows *sql.Rows
	switch {
	case q.sqlite():
		if all {
			since = time.Unix(0, 0)
		}
		rows, err = q.store.Reader().QueryContext(ctx, dueSQLite, since, now)
	case all:
		rows, err = q.store.Writer().QueryContext(ctx, duePostgres, q.store.Moment())
	default:
		rows, err = q.store.Writer().QueryContext(ctx, dueSincePostgres, q.store.Moment(), since)
	}
	if err != nil {
		return nil, false, wrap("look for what is due", err)
	}
	at := sql.NullTime{Time: now, Valid: q.sqlite()}
	err = each(rows, func() error {
		var (
			told           sql.NullTime
			store, webhook uuid.NullUUID
			retry          sql.NullBool
		)
		if err := rows.Scan(&told, &store, &webhook, &retry); err != nil {
			return err
		}
		if told.Valid {
			at = told
		}
		if store.Valid {
			lanes = append(lanes, Lane{store.UUID, webhook.UUID, retry.Bool})
		}
		return nil
	})
	if err != nil {
		return nil, false, wrap("look for what is due", err)
	}
	q.due.at = at.Time
	if all {
		q.due.full = now
	}
	return lanes, all, nil
}
