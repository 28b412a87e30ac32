INSERT INTO deliveries (id, store_id, webhook_id, event_id, event_type, retry, due_at, attempts, created_at, epoch)
SELECT r.id, r.store_id, r.webhook_id, r.event_id, r.event_type, false, COALESCE($1::timestamptz, now()), '[]', $2, r.epoch
 FROM jsonb_to_recordset($3::jsonb) AS r(id uuid, store_id uuid, webhook_id uuid, event_id uuid, event_type text, epoch bigint)
 WHERE NOT EXISTS (SELECT 1 FROM finished_deliveries f WHERE f.id = r.id AND f.store_id = r.store_id)
 ON CONFLICT (id, store_id) DO NOTHING RETURNING id
