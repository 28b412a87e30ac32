-- $1 of each statement is a JSON array of rows. Rows of a store that is deleted or being deleted are left out: a running server
-- may still have some, and nothing would delete them.

-- name: add tallies
INSERT INTO tallies (id, store_id, subject_id, began_at, succeeded, failed, duration_ms)
SELECT value->>'id', value->>'store_id', value->>'subject_id', value->>'began_at', value->>'succeeded', value->>'failed', value->>'millis'
 FROM json_each($1) WHERE EXISTS (SELECT 1 FROM stores s WHERE s.id = value->>'store_id' AND s.deletion_began_at IS NULL)
ON CONFLICT (store_id, subject_id, began_at) DO UPDATE SET succeeded = tallies.succeeded + excluded.succeeded,
 failed = tallies.failed + excluded.failed, duration_ms = tallies.duration_ms + excluded.duration_ms

-- name: add refused
INSERT INTO refused_requests (id, store_id, key_id, request_id, method, route, status, code, fields, created_at)
SELECT value->>'id', value->>'store_id', value->>'key_id', value->>'request_id', value->>'method', value->>'route', value->>'status',
 value->>'code', value->>'fields', value->>'at' FROM json_each($1)
 WHERE EXISTS (SELECT 1 FROM stores s WHERE s.id = value->>'store_id' AND s.deletion_began_at IS NULL)

-- name: trim refused
-- Deletes all but the newest 200 (MaxRefusedPerKey) refused requests of each key that occurs in $1.
DELETE FROM refused_requests WHERE id IN (SELECT d.id FROM json_each($1) r
 JOIN refused_requests d ON d.store_id = r.value->>'store_id' AND d.key_id = r.value->>'key_id' AND d.id <= (
  SELECT o.id FROM refused_requests o WHERE o.store_id = r.value->>'store_id' AND o.key_id = r.value->>'key_id'
  ORDER BY o.id DESC LIMIT 1 OFFSET 200))
