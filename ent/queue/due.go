package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

const (
	// What became due in a span is read off the index of due times.
	dueSincePostgres = `SELECT n.at, d.store_id, d.webhook_id, d.retry, NULL::timestamptz FROM (SELECT ` + present + ` AS at) n LEFT JOIN (
 SELECT DISTINCT store_id, webhook_id, retry FROM (
  SELECT store_id, webhook_id, retry FROM deliveries WHERE due_at > $2 AND due_at <= ` + present + ` ORDER BY due_at OFFSET 0) s
 ) d ON true`

	// All lanes are found by leaping from the first of one to the first of the next along their
	// index, however much is in each.
	duePostgres = `WITH RECURSIVE lanes AS (
 (SELECT store_id, webhook_id, retry, due_at FROM deliveries ORDER BY store_id, webhook_id, retry, due_at LIMIT 1)
 UNION ALL
 SELECT n.* FROM lanes l CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id, d.retry, d.due_at FROM deliveries d
  WHERE (d.store_id, d.webhook_id, d.retry) > (l.store_id, l.webhook_id, l.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at LIMIT 1) n)
SELECT n.at, d.* FROM (SELECT ` + present + ` AS at) n LEFT JOIN (SELECT * FROM lanes WHERE due_at <= ` + present + `) d ON true`

	dueAllSQLite = `WITH RECURSIVE ` + lanesSQLite + `
SELECT NULL, d.store_id, d.webhook_id, d.retry, NULL FROM lanes l JOIN deliveries d ON d.id = l.id WHERE d.due_at <= $1`

	dueSQLite = `SELECT NULL, store_id, webhook_id, retry, NULL FROM deliveries WHERE due_at > $1 AND due_at <= $2
 GROUP BY store_id, webhook_id, retry`
)

// Waiting is a lane in which something is due.
type Waiting struct {
	Lane
	// Since is when what waits longest there became due; zero when that is not known.
	Since time.Time
}

// Due returns the lanes in which something became due since it was last asked: retries whose time
// has come, leases that ended, what other workers left waiting. At the first call, and from time to
// time, it returns every lane in which anything is due, and tells so.
func (q *Queue) Due(ctx context.Context) (lanes []Waiting, all bool, err error) {
	now := q.store.Now()
	since := q.due.at.Add(-dueReach)
	all = q.due.at.IsZero() || !now.Before(q.due.full.Add(fullInterval)) || now.Before(q.due.full)
	var rows *sql.Rows
	switch {
	case q.sqlite() && all:
		rows, err = q.store.Reader().QueryContext(ctx, dueAllSQLite, now)
	case q.sqlite():
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
			since          sql.NullTime
		)
		if err := rows.Scan(&told, &store, &webhook, &retry, &since); err != nil {
			return err
		}
		if told.Valid {
			at = told
		}
		if store.Valid {
			lanes = append(lanes, Waiting{Lane{store.UUID, webhook.UUID, retry.Bool}, since.Time})
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
