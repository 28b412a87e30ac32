-- A statement with the name of a column or a table reads id, time, a column's text, another text, and answers a question about
-- the row.

-- name: refused_requests
SELECT id, created_at, fields, '', true FROM refused_requests WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND fields <> ''
 ORDER BY created_at, id LIMIT $4

-- name: idempotency_keys.answer
SELECT id, created_at, answer, key, true FROM idempotency_keys WHERE store_id = $1 AND (created_at, id) > ($2, $3)
 ORDER BY created_at, id LIMIT $4

-- name: events.payload
SELECT id, created_at, payload, '', true FROM events WHERE store_id = $1 AND (created_at, id) > ($2, $3)
 ORDER BY created_at, id LIMIT $4

-- name: activity_entries.changes
-- Is it about the customer, or an order of the customer's?
SELECT a.id, a.created_at, a.changes, '', a.resource_id = $5 OR a.resource_type = 'order' AND EXISTS (
  SELECT 1 FROM orders o WHERE o.store_id = $1 AND o.id = a.resource_id AND o.customer_id = $5)
 FROM activity_entries a WHERE a.store_id = $1 AND (a.created_at, a.id) > ($2, $3) ORDER BY a.created_at, a.id LIMIT $4

-- name: clear notes
-- Those of orders whose next change sends an event, and some of the others.
UPDATE orders SET note = NULL WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL AND (status IN ('PENDING', 'FAILED')
 OR id IN (SELECT id FROM orders WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL LIMIT $3))
