-- A statement that is named after a table or a column reads four columns: the row's id and time, the text to erase from, and a
-- bool, whose meaning depends on the statement.

-- name: events without a customer
-- The events that an earlier release has written.
SELECT id, created_at, payload, true FROM events WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND customer_id IS NULL
 ORDER BY created_at, id LIMIT $4

-- name: idempotency_keys.answer
SELECT id, created_at, answer, true FROM idempotency_keys WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND customer_id = $5
 ORDER BY created_at, id LIMIT $4

-- name: events.payload
SELECT id, created_at, payload, true FROM events WHERE store_id = $1 AND (created_at, id) > ($2, $3) AND customer_id = $5
 ORDER BY created_at, id LIMIT $4

-- name: activity_entries.changes
-- The ids are read first, so that the entries are found by them, and not in the order of their times.
WITH about AS MATERIALIZED (SELECT id FROM customers WHERE store_id = $1 AND id = $5
 UNION ALL SELECT id FROM orders WHERE store_id = $1 AND customer_id = $5)
SELECT a.id, a.created_at, a.changes, true FROM about JOIN activity_entries a ON a.store_id = $1 AND a.resource_id = about.id
 WHERE (a.created_at, a.id) > ($2, $3) ORDER BY a.created_at, a.id LIMIT $4

-- name: clear notes
-- Removes all notes of the customer's PENDING and FAILED orders, because the next change of such an order sends an event,
-- and up to $3 notes of the customer's orders of any status.
UPDATE orders SET note = NULL WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL AND (status IN ('PENDING', 'FAILED')
 OR id IN (SELECT id FROM orders WHERE store_id = $1 AND customer_id = $2 AND note IS NOT NULL LIMIT $3))
