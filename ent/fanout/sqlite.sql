INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, created_at, epoch)
SELECT r.value->>'id', r.value->>'store_id', r.value->>'webhook_id', r.value->>'event_id', r.value->>'event_type', false,
 $1, CAST('[]' AS BLOB), $2, r.value->>'epoch'
 FROM json_each($3) r
 WHERE NOT EXISTS (SELECT 1 FROM finished_deliveries f WHERE f.id = r.value->>'id')
 ON CONFLICT (id) DO NOTHING RETURNING id
