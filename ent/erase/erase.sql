-- {ids} is a list of parameters, and {lock} locks the rows for the rest of the transaction. The present is
-- COALESCE(CAST($n AS timestamptz), CURRENT_TIMESTAMP), given the database's TimeArg. A statement
-- with the name of a column or a table reads id, time, a column's text, another text, and answers a question about the row.

-- name: refused_requests
SELECT id, created_at, fields, '', true FROM refused_requests WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND fields <> ''
 ORDER BY created_at, id LIMIT $4

-- name: clear refused
UPDATE refused_requests SET fields = '' WHERE store_id = $1 AND id IN ({ids})

-- name: idempotency_keys.answer
SELECT id, created_at, answer, key, true FROM idempotency_keys WHERE store_id = $1 AND (created_at, id) > ($2, $3)
 ORDER BY created_at, id LIMIT $4

-- name: drop keys
DELETE FROM idempotency_keys WHERE store_id = $1 AND id IN ({ids})

-- name: events.payload
SELECT id, created_at, payload, '', true FROM events WHERE store_id = $1 AND (created_at, id) > ($2, $3)
 ORDER BY created_at, id LIMIT $4

-- name: deliveries.attempts
-- Is an attempt under way?
SELECT id, created_at, attempts, '', lease IS NOT NULL AND due_at > COALESCE(CAST($2 AS timestamptz), CURRENT_TIMESTAMP)
 FROM deliveries WHERE store_id = $1 AND event_id IN ({ids}) ORDER BY id {lock}

-- name: cancel
-- A worker that comes with a result after the end of its lease changes nothing, and the next one to claim it cancels it.
UPDATE deliveries SET lease = NULL, due_at = COALESCE(CAST($2 AS timestamptz), CURRENT_TIMESTAMP)
 WHERE store_id = $1 AND event_id IN ({ids})

-- name: finished_deliveries.attempts
SELECT id, created_at, attempts, '', false FROM finished_deliveries WHERE store_id = $1 AND event_id IN ({ids}) ORDER BY id

-- name: activity_entries.changes
-- Is it about the customer, or an order of the customer's?
SELECT a.id, a.created_at, a.changes, '', a.resource_id = $5 OR a.resource_type = 'order' AND EXISTS (
  SELECT 1 FROM orders o WHERE o.store_id = $1 AND o.id = a.resource_id AND o.customer_id = $5)
 FROM activity_entries a WHERE a.store_id = $1 AND (a.created_at, a.id) > ($2, $3) ORDER BY a.created_at, a.id LIMIT $4

-- name: clear notes
-- Those of orders whose next change sends an event, and some of the others.
UPDATE orders SET note = NULL WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL AND (status IN ('PENDING', 'FAILED')
 OR id IN (SELECT id FROM orders WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL LIMIT $3))

-- name: delete rows
DELETE FROM {table} WHERE store_id = $1 AND {key} IN (SELECT {key} FROM {table} WHERE store_id = $1 LIMIT $2)

-- name: delete rate counters
DELETE FROM {table} WHERE id IN (SELECT r.id FROM {table} r JOIN api_keys k ON k.id = r.id WHERE k.store_id = $1 LIMIT $2)
