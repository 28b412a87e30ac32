-- Statements of a worker on PostgreSQL. A statement that needs the current time has a parameter for it, usually $1. The
-- parameter is null, so that the database's clock decides; only in tests with their own clock it is the time of that clock.

-- name: payloads
SELECT e.id, e.payload, e.request_id, COALESCE(e.trace, '')
 FROM unnest($1::uuid[], $2::uuid[]) AS r(store_id, id) JOIN events e ON e.id = r.id AND e.store_id = r.store_id

-- name: find events
SELECT id, created_at, position(lower($5::text) IN lower(convert_from(payload, 'UTF8'))) > 0 AND ($6 = '' OR type = $6) FROM (
 SELECT id, created_at, type, payload FROM events WHERE store_id = $1 AND (created_at, id) < ($2, $3) AND created_at >= $4
 ORDER BY created_at DESC, id DESC LIMIT 1000) e ORDER BY created_at DESC, id DESC

-- name: due
-- Finds the lanes by jumping along the lanes' index, from the first row of each lane to the first row of the next lane. So the
-- number of rows in a lane does not matter.
WITH RECURSIVE lanes AS (
 (SELECT store_id, webhook_id, epoch, retry, due_at FROM deliveries ORDER BY store_id, webhook_id, epoch, retry, due_at LIMIT 1)
 UNION ALL
 SELECT n.* FROM lanes l CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id, d.epoch, d.retry, d.due_at FROM deliveries d
  WHERE (d.store_id, d.webhook_id, d.epoch, d.retry) > (l.store_id, l.webhook_id, l.epoch, l.retry)
  ORDER BY d.store_id, d.webhook_id, d.epoch, d.retry, d.due_at LIMIT 1) n)
SELECT store_id, webhook_id, retry, due_at FROM lanes WHERE due_at <= COALESCE($1::timestamptz, now())

-- name: due since
SELECT DISTINCT store_id, webhook_id, retry FROM deliveries
 WHERE due_at > $2 AND due_at <= COALESCE($1::timestamptz, now()) AND lease IS NULL

-- name: claim
WITH want AS (
 SELECT r.*, w.epoch, w.url, w.secret, w.secret_key
 FROM jsonb_to_recordset($2::jsonb) AS r(store_id uuid, webhook_id uuid, retry boolean, max integer, floor timestamptz)
 JOIN webhooks w ON w.store_id = r.store_id AND w.id = r.webhook_id AND w.enabled),
due AS (
 SELECT f.id, want.url, want.secret, want.secret_key FROM want CROSS JOIN LATERAL (
  SELECT d.id FROM deliveries d
  WHERE d.store_id = want.store_id AND d.webhook_id = want.webhook_id AND d.epoch = want.epoch AND d.retry = want.retry
   AND d.due_at >= want.floor AND d.due_at <= COALESCE($1::timestamptz, now())
   AND (d.lease IS NULL OR d.leased_until <= COALESCE($1::timestamptz, now()))
  ORDER BY d.due_at, d.id LIMIT want.max FOR UPDATE SKIP LOCKED) f),
leased AS (
 UPDATE deliveries d SET lease = gen_random_uuid(),
  leased_until = COALESCE($1::timestamptz, now()) + $3::bigint * interval '1 millisecond'
 FROM due WHERE d.id = due.id
 RETURNING d.*, due.url, due.secret, due.secret_key)
SELECT d.id, d.lease, d.store_id, d.webhook_id, d.retry, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch,
 d.due_at, d.url, d.secret, d.secret_key
 FROM leased d

-- name: end
WITH gone AS (
 DELETE FROM deliveries d USING jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid, status text, attempts text)
 WHERE d.id = r.id AND d.lease = r.lease
 RETURNING d.id, d.store_id, d.webhook_id, d.event_id, d.event_type, r.status, r.attempts, d.created_at)
INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT id, store_id, webhook_id, event_id, event_type, status, convert_to(attempts, 'UTF8'), created_at,
 date_trunc('milliseconds', COALESCE($1::timestamptz, now())) FROM gone

-- name: wait
UPDATE deliveries d SET retry = true, lease = NULL, leased_until = NULL, attempts = convert_to(r.attempts, 'UTF8'),
 due_at = COALESCE($1::timestamptz, now()) + r.delay * interval '1 millisecond'
 FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid, attempts text, delay bigint)
 WHERE d.id = r.id AND d.lease = r.lease

-- name: release
UPDATE deliveries d SET lease = NULL, leased_until = NULL, due_at = COALESCE($1::timestamptz, now())
 FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, lease uuid) WHERE d.id = r.id AND d.lease = r.lease

-- name: changed webhooks
-- Locks the webhooks whose failing_since changes. It skips a webhook whose row is locked: the next outcome of an attempt of
-- this webhook changes it.
SELECT w.id, w.store_id, w.url, w.description, w.failing_since, r.failed
 FROM jsonb_to_recordset($1::jsonb) AS r(id uuid, succeeded boolean, failed boolean)
 JOIN webhooks w ON w.id = r.id AND w.enabled
  AND CASE WHEN r.failed THEN r.succeeded OR w.failing_since IS NULL ELSE w.failing_since IS NOT NULL END
 FOR UPDATE OF w SKIP LOCKED

-- name: mark
UPDATE webhooks SET failing_since = CASE WHEN r.failed THEN date_trunc('milliseconds', COALESCE($1::timestamptz, now())) END
 FROM jsonb_to_recordset($2::jsonb) AS r(id uuid, failed boolean) WHERE webhooks.id = r.id

-- name: states
SELECT id, COALESCE(failing_since <= COALESCE($1::timestamptz, now()) - $2::bigint * interval '1 millisecond', false), epoch
 FROM webhooks WHERE enabled AND id IN (SELECT value::uuid FROM jsonb_array_elements_text($3::jsonb))

-- name: cancelled
WITH RECURSIVE made AS (
 (SELECT store_id, webhook_id, epoch FROM deliveries ORDER BY store_id, webhook_id, epoch LIMIT 1)
 UNION ALL
 SELECT n.* FROM made m CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id, d.epoch FROM deliveries d
  WHERE (d.store_id, d.webhook_id, d.epoch) > (m.store_id, m.webhook_id, m.epoch)
  ORDER BY d.store_id, d.webhook_id, d.epoch LIMIT 1) n)
SELECT m.* FROM made m WHERE NOT EXISTS (
 SELECT 1 FROM webhooks w WHERE w.store_id = m.store_id AND w.id = m.webhook_id AND w.enabled AND w.epoch = m.epoch)

-- name: cancel
WITH gone AS (
 DELETE FROM deliveries WHERE id = ANY (ARRAY(
  SELECT id FROM deliveries WHERE store_id = $2 AND webhook_id = $3 AND epoch = $4
   AND (lease IS NULL OR leased_until <= COALESCE($1::timestamptz, now()))
  ORDER BY retry, due_at, id LIMIT $5 FOR UPDATE SKIP LOCKED))
 RETURNING id, store_id, webhook_id, event_id, event_type, attempts, created_at)
INSERT INTO finished_deliveries (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT id, store_id, webhook_id, event_id, event_type, 'cancelled', attempts, created_at,
 GREATEST(created_at, COALESCE($1::timestamptz, now())) FROM gone

-- name: backlog
-- Counts lane by lane, so that the count of first attempts reads no retries, the count of retries reads no first attempts,
-- and neither reads cancelled deliveries.
WITH RECURSIVE made AS (
 (SELECT store_id, webhook_id FROM deliveries ORDER BY store_id, webhook_id LIMIT 1)
 UNION ALL
 SELECT n.* FROM made m CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id FROM deliveries d
  WHERE (d.store_id, d.webhook_id) > (m.store_id, m.webhook_id) ORDER BY d.store_id, d.webhook_id LIMIT 1) n),
live AS (SELECT m.*, w.epoch FROM made m JOIN webhooks w ON w.store_id = m.store_id AND w.id = m.webhook_id AND w.enabled)
SELECT (SELECT count(*) FROM (SELECT 1 FROM live l CROSS JOIN LATERAL (
  SELECT 1 FROM deliveries d WHERE d.store_id = l.store_id AND d.webhook_id = l.webhook_id AND d.epoch = l.epoch AND d.retry = false
  LIMIT 10000) d LIMIT 10000) f),
 (SELECT count(*) FROM (SELECT 1 FROM live l CROSS JOIN LATERAL (
  SELECT 1 FROM deliveries d WHERE d.store_id = l.store_id AND d.webhook_id = l.webhook_id AND d.epoch = l.epoch AND d.retry = true
  LIMIT 10000) d LIMIT 10000) r)

-- name: longest due
-- Reads the first delivery of each webhook that waits for its first attempt or is in it.
WITH RECURSIVE made AS (
 (SELECT store_id, webhook_id FROM deliveries ORDER BY store_id, webhook_id LIMIT 1)
 UNION ALL
 SELECT n.* FROM made m CROSS JOIN LATERAL (
  SELECT d.store_id, d.webhook_id FROM deliveries d
  WHERE (d.store_id, d.webhook_id) > (m.store_id, m.webhook_id) ORDER BY d.store_id, d.webhook_id LIMIT 1) n)
SELECT min(f.due_at) FROM made m JOIN webhooks w ON w.store_id = m.store_id AND w.id = m.webhook_id AND w.enabled
 CROSS JOIN LATERAL (
  SELECT d.due_at, d.leased_until FROM deliveries d
  WHERE d.store_id = w.store_id AND d.webhook_id = w.id AND d.epoch = w.epoch AND d.retry = false ORDER BY d.due_at, d.id LIMIT 1) f
 WHERE f.leased_until IS NULL OR f.leased_until <= COALESCE($1::timestamptz, now())

-- name: snapshots
-- Lists who keeps VACUUM from removing dead rows. The first is the holder since whose snapshot the most transactions have
-- begun. seconds is the snapshot's age; it is null for slots and standbys, because PostgreSQL does not store their age.
-- transactions is how many transactions have begun since the snapshot began. A role sees the times of other roles' sessions
-- only with pg_read_all_stats.
SELECT holder, seconds, transactions FROM (
 SELECT format('process %s (%s, %s)', pid, COALESCE(NULLIF(application_name, ''), '-'), state) AS holder,
  extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds, GREATEST(age(backend_xmin), age(backend_xid)) AS transactions
  FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
   AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND backend_type NOT IN ('walsender', 'autovacuum worker')
 UNION ALL
 SELECT format('the prepared transaction %s', gid), extract(epoch FROM clock_timestamp() - prepared)::float8, age(transaction)
  FROM pg_prepared_xacts WHERE database = current_database()
 UNION ALL
 SELECT format('the replication slot %s', slot_name), NULL, age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
 UNION ALL
 SELECT format('the standby %s', application_name), NULL, age(backend_xmin) FROM pg_stat_replication WHERE backend_xmin IS NOT NULL
) h ORDER BY transactions DESC, seconds DESC NULLS LAST

-- name: dead rows
SELECT COALESCE(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables
 WHERE relid = ANY (ARRAY[to_regclass('deliveries'), to_regclass('row_deltas')]::oid[])

-- name: deliveries of
-- Returns the event of each delivery to the webhook, and true if the delivery has succeeded or is pending, so that the event
-- needs no other delivery. A delivery of an earlier epoch of the webhook is not pending but cancelled.
SELECT d.event_id, w.id IS NOT NULL FROM deliveries d
 LEFT JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND w.enabled AND w.epoch = d.epoch
 WHERE d.store_id = $1 AND d.webhook_id = $2 AND d.event_id = ANY ($3::uuid[])
UNION ALL SELECT event_id, status = 'succeeded' FROM finished_deliveries
 WHERE store_id = $1 AND webhook_id = $2 AND event_id = ANY ($3::uuid[])

-- name: send events
UPDATE deliveries SET due_at = COALESCE($3::timestamptz, now())
 WHERE store_id = $1 AND webhook_id = $2 AND lease IS NULL AND due_at > COALESCE($3::timestamptz, now())
  AND EXISTS (SELECT 1 FROM webhooks w WHERE w.store_id = $1 AND w.id = $2 AND w.enabled AND w.epoch = deliveries.epoch)
  AND event_id = ANY ($4::uuid[])
