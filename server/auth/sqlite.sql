-- The statements of the gate on SQLite. Their parameters are those of the PostgreSQL statements, with two exceptions: the
-- time is never null and is in Unix milliseconds, and there is one lookup in place of arrays. The statement known only
-- reads, because the server counts in memory. Parameters are ?N, because SQLite numbers $N by their first appearance.

-- name: known
SELECT 1, ?3,
	ifnull((SELECT r.count FROM rate_counters AS r WHERE r.id = k.id AND r.minute = ?3 / 60000), 0),
	k.id, k.name, k.scopes, k.expires_at, k.revoked_at,
	s.id, s.slug, s.currency, s.country, s.status, s.payment_links_open, s.unavailable_types, s.platform_fee_percent
FROM api_keys AS k
JOIN stores AS s ON s.id = k.store_id
WHERE k.fingerprint = ?1 AND NOT EXISTS (
	SELECT 1 FROM address_counters AS a WHERE a.id = ?2 AND a.minute IN (?3 / 60000, ?3 / 60000 + 1) AND a.count > ?4)

-- name: unknown
INSERT INTO address_counters AS a (id, minute, count) VALUES (?2, ?3 / 60000, 1)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN a.minute = excluded.minute + 1 THEN a.minute ELSE excluded.minute END,
	count = CASE WHEN a.minute - excluded.minute IN (0, 1) THEN a.count + 1 ELSE 1 END
RETURNING ?3, count, EXISTS (SELECT 1 FROM api_keys WHERE fingerprint = ?1)

-- name: uses
UPDATE api_keys SET last_used_at = u.value
FROM json_each(?1) AS u
WHERE api_keys.id = u.key AND (last_used_at IS NULL OR last_used_at < u.value)

-- name: counts
INSERT INTO rate_counters (id, minute, count)
SELECT key, ?2, value FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET minute = excluded.minute, count = excluded.count

-- name: sweep
DELETE FROM address_counters WHERE minute < ?1 / 60000 - 1
