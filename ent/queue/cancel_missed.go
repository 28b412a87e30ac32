package queue

import (
	"context"

	"github.com/google/uuid"
)

// The first delivery of each lane is found by leaping from lane to lane along their index. Of a
// webhook that was enabled again, what is cancelled and was missed is the first of its lane, or it
// became due since: then it is claimed, and cancelled by whoever claimed it.
const (
	missedPostgres = `WITH RECURSIVE lanes AS (
 (SELECT * FROM deliveries ORDER BY store_id, webhook_id, retry, due_at LIMIT 1)
 UNION ALL
 SELECT n.* FROM lanes l CROSS JOIN LATERAL (
  SELECT * FROM deliveries d WHERE (d.store_id, d.webhook_id, d.retry) > (l.store_id, l.webhook_id, l.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at LIMIT 1) n)
SELECT d.store_id, d.webhook_id, d.epoch FROM lanes d WHERE (d.lease IS NULL OR d.due_at <= ` + present + `)` + andMissed

	missedSQLite = `WITH RECURSIVE ` + lanesSQLite + `
SELECT d.store_id, d.webhook_id, d.epoch FROM lanes l JOIN deliveries d ON d.id = l.id WHERE (d.lease IS NULL OR d.due_at <= $1)` + andMissed

	andMissed = `
 AND (SELECT 1 FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + ` LIMIT 1) IS NULL
 AND (SELECT 1 FROM cancellations c WHERE c.store_id = d.store_id AND c.webhook_id = d.webhook_id LIMIT 1) IS NULL`

	// lanesSQLite are the ids of the first delivery of each lane, and a null at the end.
	lanesSQLite = `lanes (id) AS (
 SELECT (SELECT id FROM deliveries ORDER BY store_id, webhook_id, retry, due_at, id LIMIT 1)
 UNION ALL
 SELECT (SELECT d.id FROM deliveries d WHERE (d.store_id, d.webhook_id, d.retry) > (p.store_id, p.webhook_id, p.retry)
  ORDER BY d.store_id, d.webhook_id, d.retry, d.due_at, d.id LIMIT 1) FROM lanes l JOIN deliveries p ON p.id = l.id)`
)

// FindMissed orders a cancellation for each webhook for which cancelled deliveries wait and that
// has none: a relay that had read the webhook before it was disabled added them after the last lap,
// or a release without cancellations disabled it. It returns how many it ordered, and is safe
// from several processes at once.
func (q *Queue) FindMissed(ctx context.Context) (int, error) {
	statement, db := missedPostgres, q.store.Writer()
	if q.sqlite() {
		statement, db = missedSQLite, q.store.Reader()
	}
	rows, err := db.QueryContext(ctx, statement, q.store.Moment())
	if err != nil {
		return 0, wrap("look for missed cancellations", err)
	}
	type webhook struct{ store, id uuid.UUID }
	epochs := map[webhook]int64{}
	err = each(rows, func() error {
		var (
			w     webhook
			epoch int64
		)
		err := rows.Scan(&w.store, &w.id, &epoch)
		epochs[w] = max(epochs[w], epoch+1)
		return err
	})
	if err != nil {
		return 0, wrap("look for missed cancellations", err)
	}
	ordered := 0
	for w, epoch := range epochs {
		n, err := affected(q.store.Writer().ExecContext(ctx, orderCancellation(q.store), order(q.store, w.store, w.id, q.store.Now(), epoch)...))
		if err != nil {
			return ordered, wrap("order a missed cancellation", err)
		}
		ordered += int(n)
	}
	return ordered, nil
}
