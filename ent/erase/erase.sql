-- A statement that is named after a table or a column reads five columns: the row's id and time, the text to erase from,
-- another text, and a bool. The bool is true, unless the statement's comment says what it means.

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
-- The last column is true if the entry is about the customer or about one of the customer's orders.
SELECT a.id, a.created_at, a.changes, '', a.resource_id = $5 OR a.resource_type = 'order' AND EXISTS (
  SELECT 1 FROM orders o WHERE o.store_id = $1 AND o.id = a.resource_id AND o.customer_id = $5)
 FROM activity_entries a WHERE a.store_id = $1 AND (a.created_at, a.id) > ($2, $3) ORDER BY a.created_at, a.id LIMIT $4

-- name: clear notes
-- Removes all notes of the customer's PENDING and FAILED orders, because the next change of such an order sends an event,
-- and up to $3 notes of the customer's orders of any status.
UPDATE orders SET note = NULL WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL AND (status IN ('PENDING', 'FAILED')
 OR id IN (SELECT id FROM orders WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL LIMIT $3))
