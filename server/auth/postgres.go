package auth

// postgres holds the statements for PostgreSQL. They use its clock unless a time is given.
//
// A counter's row restarts in each new minute. If the row is one minute ahead, a request that
// overtook this one counted it, and it continues. If the row is further ahead, a clock was set
// back, and it restarts; otherwise the key would be limited until the clock catches up.
//
// The key's store comes from a subquery of the upsert: common table expressions for the look-up,
// the counters and the answer took half as long again.
var postgres = statements{
	known: `
INSERT INTO rate_counters AS r (id, minute, count)
SELECT k.id, t.minute, 1
FROM api_keys AS k, (SELECT floor(extract(epoch FROM coalesce($3::timestamptz, now())) / 60)::bigint AS minute) AS t
WHERE k.fingerprint = $1::bytea AND NOT EXISTS (
	SELECT FROM address_counters AS a
	WHERE a.id = $2::text AND a.minute IN (t.minute, t.minute + 1)
	AND a.count > $4::integer)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN r.minute = excluded.minute + 1 THEN r.minute ELSE excluded.minute END,
	count = CASE WHEN r.minute - excluded.minute IN (0, 1) THEN r.count + 1 ELSE 1 END
RETURNING
	floor(extract(epoch FROM coalesce($3::timestamptz, now())) * 1000)::bigint,
	count,
	(SELECT concat(
		k.id, E'\x1f', k.name, E'\x1f', k.scopes, E'\x1f',
		(extract(epoch FROM k.expires_at) * 1000)::bigint, E'\x1f',
		(extract(epoch FROM k.revoked_at) * 1000)::bigint, E'\x1f',
		s.id, E'\x1f', s.slug, E'\x1f', s.currency, E'\x1f', s.country, E'\x1f', s.status, E'\x1f',
		s.payment_links_open, E'\x1f', s.unavailable_types, E'\x1f', s.platform_fee_percent)
	FROM api_keys AS k
	JOIN stores AS s ON s.id = k.store_id
	WHERE k.fingerprint = $1::bytea)`,

	unknown: `
INSERT INTO address_counters AS a (id, minute, count)
VALUES ($2::text, floor(extract(epoch FROM coalesce($3::timestamptz, now())) / 60)::bigint, 1)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN a.minute = excluded.minute + 1 THEN a.minute ELSE excluded.minute END,
	count = CASE WHEN a.minute - excluded.minute IN (0, 1) THEN a.count + 1 ELSE 1 END
RETURNING
	floor(extract(epoch FROM coalesce($3::timestamptz, now())) * 1000)::bigint,
	count,
	EXISTS (SELECT FROM api_keys WHERE fingerprint = $1::bytea)`,

	writeUses: `
WITH used AS (
	SELECT k.id, timestamptz 'epoch' + u.at * interval '1 millisecond' AS at
	FROM json_to_recordset($1::json) AS u (id uuid, at bigint)
	JOIN api_keys AS k ON k.id = u.id
	ORDER BY k.id
	FOR NO KEY UPDATE OF k
)
UPDATE api_keys AS k SET last_used_at = used.at FROM used
WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < used.at)`,

	// Rows locked by another server are left to the next sweep.
	sweep: `
DELETE FROM address_counters WHERE id IN (
	SELECT id FROM address_counters
	WHERE minute < floor(extract(epoch FROM coalesce($1::timestamptz, now())) / 60)::bigint - 1
	FOR UPDATE SKIP LOCKED)`,
}
