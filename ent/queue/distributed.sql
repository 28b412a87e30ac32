-- Statements of a worker on a Citus cluster. The outbox and the events are distributed by store, and the other tables of the
-- queue are on the coordinator. Statements that are missing here are those of postgres.sql.

-- name: turn
-- Returns true if this transaction may relay. Only one relay runs at a time, because a statement cannot lock and skip rows
-- on several nodes.
SELECT pg_try_advisory_xact_lock(5917214180743271)

-- name: take
SELECT id, store_id, webhook_id, event_id, event_type, epoch FROM outbox ORDER BY id LIMIT $1

-- name: take reachable
-- Queries each shard separately, over its own connections, and skips shards that do not answer.
SELECT r.* FROM run_command_on_shards('outbox', format(
  'SELECT json_agg(o) FROM (SELECT id, store_id, webhook_id, event_id, event_type, epoch FROM %%s ORDER BY id LIMIT %s) o', $1::integer)) p
 CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN p.success THEN NULLIF(p.result, '')::jsonb END)
  AS r(id uuid, store_id uuid, webhook_id uuid, event_id uuid, event_type text, epoch bigint)
 ORDER BY r.id LIMIT $1::integer

-- name: drop ended again
-- A delivery that ends while the insert waits for its row is added again, because the insert did not see its end.
DELETE FROM deliveries d USING finished_deliveries f WHERE f.id = d.id AND d.id = ANY ($1::uuid[])

-- name: drop
DELETE FROM outbox WHERE store_id = $1 AND id = ANY ($2::uuid[])

-- name: payloads
-- Queries each shard that has one of the stores.
SELECT id, payload, request_id, COALESCE(trace, '') FROM events WHERE store_id = ANY ($1::uuid[]) AND id = ANY ($2::uuid[])

-- name: relayed later
-- The events among $3 whose delivery to the webhook is in the outbox.
SELECT event_id FROM outbox WHERE store_id = $1 AND webhook_id = $2 AND event_id = ANY ($3::uuid[])

-- name: oldest relayed later
SELECT min(CAST(event_id AS text)) FROM outbox
