-- $1 of each statement is a JSON array of rows. Rows of a store that is deleted or being deleted are left out: a running server
-- may still have some, and nothing would delete them.

-- name: add tallies
INSERT INTO tallies (id, store_id, subject_id, began_at, succeeded, failed, duration_ms)
SELECT id, store_id, subject_id, timestamptz 'epoch' + began_at * interval '1 millisecond', succeeded, failed, millis
 FROM jsonb_to_recordset($1::jsonb)
  AS r(id uuid, store_id uuid, subject_id uuid, began_at bigint, succeeded bigint, failed bigint, millis bigint)
 WHERE EXISTS (SELECT FROM stores s WHERE s.id = r.store_id AND s.deletion_began_at IS NULL)
ON CONFLICT (store_id, subject_id, began_at) DO UPDATE SET succeeded = tallies.succeeded + excluded.succeeded,
 failed = tallies.failed + excluded.failed, duration_ms = tallies.duration_ms + excluded.duration_ms

-- name: add refused
INSERT INTO refused_requests (id, store_id, key_id, request_id, method, route, status, code, fields, created_at)
SELECT id, store_id, key_id, request_id, method, route, status, code, fields, timestamptz 'epoch' + at * interval '1 millisecond'
 FROM jsonb_to_recordset($1::jsonb) AS r(id uuid, store_id uuid, key_id uuid, request_id uuid, method text, route text,
  status integer, code text, fields text, at bigint)
 WHERE EXISTS (SELECT FROM stores s WHERE s.id = r.store_id AND s.deletion_began_at IS NULL)

-- name: trim refused
-- Deletes all but the newest 200 (MaxRefusedPerKey) refused requests of each key that occurs in $1.
DELETE FROM refused_requests d USING (SELECT DISTINCT r.store_id, r.key_id, n.id
 FROM jsonb_to_recordset($1::jsonb) AS r(store_id uuid, key_id uuid) CROSS JOIN LATERAL (
  SELECT id FROM refused_requests o WHERE o.store_id = r.store_id AND o.key_id = r.key_id ORDER BY id DESC OFFSET 200 LIMIT 1) n) over
 WHERE d.store_id = over.store_id AND d.key_id = over.key_id AND d.id <= over.id
