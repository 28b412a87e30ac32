-- {has} is the function that finds bytes in a column, {ids} a list of parameters, and {lock} locks the rows for the rest of
-- the transaction. The present is COALESCE(CAST($n AS timestamptz), CURRENT_TIMESTAMP), given the database's TimeArg.

-- name: wait for orders
-- Orders whose next change sends an event: a transaction that changes one either has committed the event or reads the
-- forgotten customer.
SELECT id FROM orders WHERE store_id = $1 AND customer_id = $2 AND status IN ('PENDING', 'FAILED') ORDER BY id {lock}

-- name: clear refused
UPDATE refused_requests SET fields = '' WHERE store_id = $1 AND (replace(lower(fields), $2, '') <> lower(fields)
 OR replace(lower(fields), $3, '') <> lower(fields) OR replace(lower(fields), $4, '') <> lower(fields))

-- name: drop keys
DELETE FROM idempotency_keys WHERE store_id = $1 AND (replace(lower(key), $2, '') <> lower(key)
 OR replace(lower(key), $3, '') <> lower(key) OR replace(lower(key), $4, '') <> lower(key))

-- name: begin
INSERT INTO forgettings (id, store_id, pass, position_at, position_id, idempotency_keys, refused_requests, created_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: begin again
DELETE FROM forgettings WHERE id = $1 AND store_id = $2

-- name: read
SELECT pass, position_at, position_id, events, deliveries, activity_entries, notes, idempotency_keys, refused_requests, created_at,
 finished_at FROM forgettings WHERE id = $1 AND store_id = $2 {lock}

-- name: save
UPDATE forgettings SET pass = $3, position_at = $4, position_id = $5, events = $6, deliveries = $7, activity_entries = $8,
 notes = $9, idempotency_keys = $10, finished_at = $11 WHERE id = $1 AND store_id = $2

-- name: unfinished
SELECT id, store_id FROM forgettings WHERE finished_at IS NULL ORDER BY id LIMIT 10

-- name: next events
SELECT id, created_at, {has}(payload, $5) > 0 AND {has}(payload, $6) = 0 FROM (
 SELECT id, created_at, payload FROM events WHERE store_id = $1 AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4) e
 ORDER BY created_at, id

-- name: drop outbox
-- Waits for a relay that has locked an entry, and then leaves the deliveries that it made.
DELETE FROM outbox WHERE store_id = $1 AND id IN ({ids})

-- name: deliveries
SELECT id, attempts, lease IS NOT NULL AND due_at > COALESCE(CAST($2 AS timestamptz), CURRENT_TIMESTAMP) FROM deliveries
 WHERE store_id = $1 AND event_id IN ({ids}) ORDER BY id {lock}

-- name: clear delivery
-- A worker that comes with a result after the end of its lease changes nothing, and the next one to claim it cancels it.
UPDATE deliveries SET attempts = $3, lease = NULL, due_at = COALESCE(CAST($4 AS timestamptz), CURRENT_TIMESTAMP)
 WHERE store_id = $1 AND id = $2

-- name: finished
SELECT id, attempts, false FROM finished_deliveries WHERE store_id = $1 AND event_id IN ({ids}) ORDER BY id

-- name: clear finished
UPDATE finished_deliveries SET attempts = $3 WHERE store_id = $1 AND id = $2

-- name: clear events
UPDATE events SET payload = $2 WHERE store_id = $1 AND id IN ({ids})

-- name: next activity
SELECT a.id, a.created_at, a.resource_type, a.changes, a.resource_id = $5 OR a.resource_type = 'order' AND EXISTS (
  SELECT 1 FROM orders o WHERE o.store_id = $1 AND o.id = a.resource_id AND o.customer_id = $5) FROM (
 SELECT id, created_at, resource_type, resource_id, changes FROM activity_entries
 WHERE store_id = $1 AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4) a ORDER BY a.created_at, a.id

-- name: clear activity
UPDATE activity_entries SET changes = $3 WHERE store_id = $1 AND id = $2

-- name: clear notes
UPDATE orders SET note = NULL WHERE store_id = $1 AND id IN (
 SELECT id FROM orders WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL LIMIT $3)

-- name: answers
SELECT id, answer FROM idempotency_keys WHERE store_id = $1 AND {has}(answer, $2) > 0 AND {has}(answer, $3) = 0 LIMIT $4

-- name: clear answer
UPDATE idempotency_keys SET answer = $3 WHERE store_id = $1 AND id = $2

-- name: due stores
SELECT id FROM stores WHERE delete_at <= COALESCE(CAST($1 AS timestamptz), CURRENT_TIMESTAMP) ORDER BY delete_at LIMIT 10

-- name: delete rows
DELETE FROM {table} WHERE store_id = $1 AND id IN (SELECT id FROM {table} WHERE store_id = $1 LIMIT $2)

-- name: delete rate counters
DELETE FROM rate_counters WHERE id IN (SELECT id FROM api_keys WHERE store_id = $1)

-- name: delete counts
DELETE FROM {table} WHERE store_id = $1

-- name: delete store
DELETE FROM stores WHERE id = $1 AND delete_at <= COALESCE(CAST($2 AS timestamptz), CURRENT_TIMESTAMP)
