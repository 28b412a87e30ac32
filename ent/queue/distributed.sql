-- Statements of a worker on PostgreSQL whose outbox and events lie on other machines, distributed by store. Statements that
-- are missing here are those of postgres.sql. The deliveries are committed first, and then the outbox entries are deleted.
-- If a relay is killed in between, the next relay finds the entries again, and adds no delivery that exists.

-- name: turn
-- Returns true if this transaction may relay. Only one relay runs at a time, because a statement cannot lock and skip rows
-- on several nodes.
SELECT pg_try_advisory_xact_lock(5917214180743271)

-- name: wait for turn
-- Waits until a running relay has ended, and then blocks relays until the end of the transaction.
SELECT pg_advisory_xact_lock(5917214180743271)

-- name: take
WITH taken AS (SELECT id, store_id, type FROM outbox WHERE id > $1 ORDER BY id LIMIT $2)
SELECT t.id, t.store_id, t.type, w.id, COALESCE(w.url, ''), w.secret, COALESCE(w.secret_key, ''), COALESCE(w.epoch, 0),
 NULL::bytea, NULL::uuid, ''
 FROM taken t
 LEFT JOIN webhooks w ON w.store_id = t.store_id AND w.enabled AND w.events ? t.type
 ORDER BY t.id, w.id

-- name: take reachable
-- Queries each shard separately, over its own connections, and skips shards that do not answer.
WITH taken AS (
 SELECT r.* FROM run_command_on_shards('outbox', format(
   'SELECT json_agg(o) FROM (SELECT id, store_id, type FROM %%s WHERE id > %L ORDER BY id LIMIT %s) o', $1::uuid, $2::integer)) p
  CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN p.success THEN NULLIF(p.result, '')::jsonb END)
   AS r(id uuid, store_id uuid, type text)
 ORDER BY r.id LIMIT $2::integer)
SELECT t.id, t.store_id, t.type, w.id, COALESCE(w.url, ''), w.secret, COALESCE(w.secret_key, ''), COALESCE(w.epoch, 0),
 NULL::bytea, NULL::uuid, ''
 FROM taken t
 LEFT JOIN webhooks w ON w.store_id = t.store_id AND w.enabled AND w.events ? t.type
 ORDER BY t.id, w.id

-- name: payloads
-- Queries each shard that has one of the stores.
SELECT id, payload, request_id, COALESCE(trace, '') FROM events WHERE store_id = ANY ($1::uuid[]) AND id = ANY ($2::uuid[])

-- name: drop
DELETE FROM outbox WHERE store_id = $1 AND id = ANY ($2::uuid[])
