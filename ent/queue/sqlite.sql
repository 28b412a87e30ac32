-- Statements of a worker on SQLite, with the same arguments as on PostgreSQL. Times are in milliseconds. No statement locks
-- rows, because there is a single writer.

-- name: payloads
SELECT id, payload, request_id, COALESCE(trace, '') FROM events
 WHERE store_id IN (SELECT value FROM json_each($1)) AND id IN (SELECT value FROM json_each($2))

-- name: find events
SELECT id, created_at, instr(lower(CAST(payload AS TEXT)), lower($5)) > 0 AND ($6 = '' OR type = $6) FROM (
 SELECT id, created_at, type, payload FROM events WHERE store_id = $1 AND (created_at, id) < ($2, $3) AND created_at >= $4
 ORDER BY created_at DESC, id DESC LIMIT 1000) e ORDER BY created_at DESC, id DESC

-- name: due
-- Reads the first delivery of each lane. The table lanes has the ids of these deliveries, and a null at its end.
WITH RECURSIVE lanes (id) AS (
 SELECT (SELECT id FROM deliveries ORDER BY store_id, webhook_id, epoch, retry, due_at, id LIMIT 1)
 UNION ALL
 SELECT (SELECT d.id FROM deliveries d
  WHERE (d.store_id, d.webhook_id, d.epoch, d.retry) > (p.store_id, p.webhook_id, p.epoch, p.retry)
  ORDER BY d.store_id, d.webhook_id, d.epoch, d.retry, d.due_at, d.id LIMIT 1) FROM lanes l JOIN deliveries p ON p.id = l.id)
SELECT d.store_id, d.webhook_id, d.retry, d.due_at FROM lanes l JOIN deliveries d ON d.id = l.id WHERE d.due_at <= $1

-- name: due since
SELECT DISTINCT store_id, webhook_id, retry FROM deliveries WHERE due_at > $2 AND due_at <= $1 AND lease IS NULL

-- name: claim
UPDATE deliveries SET lease = $1, leased_until = $2 WHERE id IN (
 SELECT d.id FROM webhooks w JOIN deliveries d ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.epoch = w.epoch
 WHERE w.store_id = $3 AND w.id = $4 AND w.enabled AND d.retry = $5 AND d.due_at BETWEEN $8 AND $6
  AND (d.lease IS NULL OR d.leased_until <= $6)
 ORDER BY d.due_at, d.id LIMIT $7)
 RETURNING id, lease, store_id, webhook_id, retry, event_id, event_type, attempts, created_at, epoch, due_at,
  (SELECT url FROM webhooks w WHERE w.id = webhook_id), (SELECT secret FROM webhooks w WHERE w.id = webhook_id),
  (SELECT secret_key FROM webhooks w WHERE w.id = webhook_id)

-- name: end
-- Copies ended deliveries to finished_deliveries. Then "drop ended" deletes the same deliveries from the table deliveries.
INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, r.value->>'status', CAST(r.value->>'attempts' AS BLOB),
 d.created_at, $1
 FROM json_each($2) r JOIN deliveries d ON d.id = r.value->>'id' AND d.lease = r.value->>'lease'

-- name: drop ended
-- Deletes the deliveries that "end" has copied to finished_deliveries, with the same arguments as "end".
DELETE FROM deliveries WHERE id IN (
 SELECT d.id FROM json_each($2) r JOIN deliveries d ON d.id = r.value->>'id' AND d.lease = r.value->>'lease')

-- name: wait
UPDATE deliveries SET retry = true, lease = NULL, leased_until = NULL, attempts = CAST(r.value->>'attempts' AS BLOB),
 due_at = $1 + (r.value->>'delay')
 FROM json_each($2) r WHERE deliveries.id = r.value->>'id' AND deliveries.lease = r.value->>'lease'

-- name: release
UPDATE deliveries SET lease = NULL, leased_until = NULL, due_at = $1
 FROM json_each($2) r WHERE deliveries.id = r.value->>'id' AND deliveries.lease = r.value->>'lease'

-- name: changed webhooks
SELECT w.id, w.store_id, w.url, w.description, w.failing_since, r.value->>'failed'
 FROM json_each($1) r JOIN webhooks w ON w.id = r.value->>'id' AND w.enabled
 AND iif(r.value->>'failed', r.value->>'succeeded' OR w.failing_since IS NULL, w.failing_since IS NOT NULL)

-- name: mark
UPDATE webhooks SET failing_since = iif(r.value->>'failed', $1, NULL)
 FROM json_each($2) r WHERE webhooks.id = r.value->>'id'

-- name: states
SELECT id, COALESCE(failing_since <= $1 - $2, false), epoch FROM webhooks WHERE enabled AND id IN (SELECT value FROM json_each($3))

-- name: cancelled
WITH RECURSIVE made (id) AS (
 SELECT (SELECT id FROM deliveries ORDER BY store_id, webhook_id, epoch, retry, due_at, id LIMIT 1)
 UNION ALL
 SELECT (SELECT d.id FROM deliveries d WHERE (d.store_id, d.webhook_id, d.epoch) > (p.store_id, p.webhook_id, p.epoch)
  ORDER BY d.store_id, d.webhook_id, d.epoch, d.retry, d.due_at, d.id LIMIT 1) FROM made m JOIN deliveries p ON p.id = m.id)
SELECT d.store_id, d.webhook_id, d.epoch FROM made m JOIN deliveries d ON d.id = m.id WHERE NOT EXISTS (
 SELECT 1 FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch)

-- name: cancel
-- Copies cancelled deliveries to finished_deliveries. Then "drop cancelled" deletes the same deliveries from the table
-- deliveries.
INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at, max(created_at, $1) FROM deliveries
 WHERE store_id = $2 AND webhook_id = $3 AND epoch = $4 AND (lease IS NULL OR leased_until <= $1) ORDER BY retry, due_at, id LIMIT $5

-- name: drop cancelled
DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
 WHERE store_id = $2 AND webhook_id = $3 AND epoch = $4 AND (lease IS NULL OR leased_until <= $1) ORDER BY retry, due_at, id LIMIT $5)

-- name: backlog
-- Counts along an index, webhook by webhook. That is fast enough for the work of one machine.
WITH live AS (SELECT * FROM webhooks WHERE enabled)
SELECT (SELECT count(*) FROM (SELECT d.id FROM live w CROSS JOIN deliveries d
  ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.epoch = w.epoch AND d.retry = false LIMIT 10000)),
 (SELECT count(*) FROM (SELECT d.id FROM live w CROSS JOIN deliveries d
  ON d.store_id = w.store_id AND d.webhook_id = w.id AND d.epoch = w.epoch AND d.retry = true LIMIT 10000))

-- name: longest due
SELECT min(f.due_at) FROM webhooks w JOIN deliveries f ON f.id = (
  SELECT d.id FROM deliveries d
  WHERE d.store_id = w.store_id AND d.webhook_id = w.id AND d.epoch = w.epoch AND d.retry = false ORDER BY d.due_at, d.id LIMIT 1)
 WHERE w.enabled AND (f.leased_until IS NULL OR f.leased_until <= $1)

-- name: deliveries of
SELECT d.event_id, w.id IS NOT NULL FROM deliveries d
 LEFT JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch
 WHERE d.store_id = $1 AND d.webhook_id = $2 AND d.event_id IN (SELECT value FROM json_each($3))
UNION ALL SELECT event_id, status = 'succeeded' FROM finished_deliveries
 WHERE store_id = $1 AND webhook_id = $2 AND event_id IN (SELECT value FROM json_each($3))

-- name: send events
UPDATE deliveries SET due_at = $3
 WHERE store_id = $1 AND webhook_id = $2 AND lease IS NULL AND due_at > $3
  AND EXISTS (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $2 AND w.enabled AND w.epoch = deliveries.epoch)
  AND event_id IN (SELECT value FROM json_each($4))

-- name: mark backup
INSERT INTO clock_marks (id, seen_at) VALUES ('backup', $1) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at

-- name: last backup
-- The time of the last verified backup, in milliseconds; without a backup, the time at which the database was made.
SELECT COALESCE((SELECT CAST(seen_at AS integer) FROM clock_marks WHERE id = 'backup'),
 (SELECT 1000 * CAST(strftime('%s', min(tstamp)) AS integer) FROM goose_db_version))
