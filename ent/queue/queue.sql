-- Statements that are the same on both databases. The current time is COALESCE(CAST($n AS timestamptz), CURRENT_TIMESTAMP),
-- where $n is the database's TimeArg: null on PostgreSQL, so that the transaction's time decides, and always a time on
-- SQLite. A delivery may be attempted if its webhook is enabled and still has the delivery's epoch; see the package's
-- comment.

-- name: live
-- The deliveries that are not yet moved to finished_deliveries. Cancelled deliveries among them have no finishing time yet.
SELECT id, store_id, webhook_id, event_id, event_type, attempts, created_at, retry,
 CASE WHEN pending AND lease IS NULL THEN due_at END AS due_at, CASE WHEN pending THEN 'pending' ELSE 'cancelled' END AS status,
 CAST(NULL AS timestamptz) AS finished_at
 FROM (SELECT d.*, w.id IS NOT NULL OR d.leased_until > COALESCE(CAST($1 AS timestamptz), CURRENT_TIMESTAMP) AS pending
  FROM deliveries d
  LEFT JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch) d

-- name: ended
SELECT id, store_id, webhook_id, event_id, event_type, attempts, created_at, false AS retry, CAST(NULL AS timestamptz) AS due_at,
 status, finished_at
 FROM finished_deliveries

-- name: retries
SELECT count(*), min(due_at) FROM (
 SELECT d.due_at FROM deliveries d
 JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch
 WHERE d.store_id = $1 AND d.webhook_id = $2 AND d.retry = true AND d.lease IS NULL
  AND d.due_at > COALESCE(CAST($3 AS timestamptz), CURRENT_TIMESTAMP)
 ORDER BY d.due_at LIMIT $4) n

-- name: send one
-- Makes a waiting delivery of a webhook due. Due, leased and cancelled deliveries stay unchanged.
UPDATE deliveries SET due_at = COALESCE(CAST($3 AS timestamptz), CURRENT_TIMESTAMP)
 WHERE store_id = $1 AND webhook_id = $2 AND lease IS NULL AND due_at > COALESCE(CAST($3 AS timestamptz), CURRENT_TIMESTAMP)
  AND EXISTS (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $2 AND w.enabled AND w.epoch = deliveries.epoch)
  AND id = $4

-- name: send retries
UPDATE deliveries SET due_at = COALESCE(CAST($3 AS timestamptz), CURRENT_TIMESTAMP)
 WHERE store_id = $1 AND webhook_id = $2 AND lease IS NULL AND due_at > COALESCE(CAST($3 AS timestamptz), CURRENT_TIMESTAMP)
  AND EXISTS (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $2 AND w.enabled AND w.epoch = deliveries.epoch)
  AND id IN (SELECT id FROM deliveries WHERE store_id = $1 AND webhook_id = $2 AND retry = true AND lease IS NULL
   AND due_at > COALESCE(CAST($3 AS timestamptz), CURRENT_TIMESTAMP) ORDER BY due_at, id LIMIT $4)

-- name: next events
-- The events after a resend's position.
SELECT e.id, e.type, e.created_at FROM events e WHERE e.store_id = $1 AND (e.created_at, e.id) > ($2, $3) AND e.created_at < $4 ORDER BY e.created_at, e.id LIMIT 500

-- name: succeeded since
SELECT EXISTS (SELECT 1 FROM finished_deliveries
 WHERE store_id = $1 AND status = 'succeeded' AND webhook_id = $2 AND finished_at > $3)

-- name: oldest needed
-- The id as text, because text sorts as ids do and min works for it on both databases.
SELECT min(CAST(event_id AS text)) FROM deliveries

-- name: forgettings failing
SELECT count(*) FROM forgettings WHERE finished_at IS NULL AND failures > 0

-- name: order resend
INSERT INTO resends (id, store_id, webhook_id, since, until, position_at, position_id, stopped, resent, created_at)
 VALUES ($1, $2, $3, $4, $5, $4, $6, false, 0, $7)

-- name: resend
SELECT id, store_id, webhook_id, since, resent, finished_at IS NOT NULL, stopped, until, position_at, position_id
 FROM resends WHERE id = $1

-- name: save resend
UPDATE resends SET resent = $1, position_at = $2, position_id = $3, stopped = $4, finished_at = $5 WHERE store_id = $6 AND id = $7

-- name: stop resends
UPDATE resends SET finished_at = $1, stopped = true WHERE store_id = $2 AND webhook_id = $3 AND finished_at IS NULL

-- name: mark clock
-- Stores $1 as the time of a sweep. If the previous sweep was not between $3 and $4, sweeps must delete nothing until $2. Returns
-- the time until which they must delete nothing.
INSERT INTO clock_marks AS m (id, seen_at, held_until) VALUES ('journal', $1, $2)
 ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at,
  held_until = CASE WHEN m.seen_at BETWEEN $3 AND $4 THEN m.held_until ELSE excluded.held_until END
 RETURNING held_until
