-- The statements of the gate on PostgreSQL. $3 is the time, or null for the database's clock.
--
-- A counter's row has the minute that it counts. In a new minute its count begins anew. If the row is one minute ahead of a
-- request, a later request came first; the request counts in the row's minute. If the row is further ahead, a clock was set
-- back; the count begins anew, because otherwise the key would stay limited until the clock catches up.

-- name: known
-- For each of several requests: the key, its store, and the key's count after all these requests. There is no row for a
-- request whose key does not exist or whose client is over its limit. A counter that another session has locked is skipped:
-- its count is 0, and the gate counts its requests with this statement without SKIP LOCKED, for one key. A counter that
-- another session is inserting cannot be skipped, so the lock timeout bounds the wait for it. LIMIT 1 and the subquery for the
-- client make PostgreSQL use indexes for each request. The arrays are in subqueries so that one plan serves arrays of any
-- length. Parameters: fingerprints; clients; time; limit of unknown keys; lock timeout.
WITH asked AS MATERIALIZED (
	SELECT q.position, t.at, t.lock_timeout, floor(extract(epoch FROM t.at) / 60)::bigint AS minute, k.*
	FROM (SELECT coalesce($3::timestamptz, now()) AS at, set_config('lock_timeout', $5::text, true) AS lock_timeout) AS t
	CROSS JOIN unnest((SELECT $1::bytea[]), (SELECT $2::text[])) WITH ORDINALITY AS q (fingerprint, client, position)
	CROSS JOIN LATERAL (
		SELECT k.id AS key, k.name, k.scopes, k.expires_at, k.revoked_at,
			s.id AS store, s.slug, s.currency, s.country, s.status, s.payment_links_open, s.unavailable_types, s.platform_fee_percent
		FROM api_keys AS k
		JOIN stores AS s ON s.id = k.store_id
		WHERE k.fingerprint = q.fingerprint
		LIMIT 1
	) AS k
	WHERE coalesce((
		SELECT a.count FROM address_counters AS a
		WHERE a.id = q.client AND a.minute - floor(extract(epoch FROM t.at) / 60)::bigint IN (0, 1)
	), 0) <= $4::integer
), requests AS MATERIALIZED (
	SELECT key, min(minute) AS minute, count(*) AS count FROM asked GROUP BY key
), free AS MATERIALIZED (
	SELECT q.* FROM requests AS q
	LEFT JOIN LATERAL (
		SELECT r.id FROM rate_counters AS r WHERE r.id = q.key LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
	) AS locked ON true
	WHERE locked.id IS NOT NULL OR NOT EXISTS (SELECT FROM rate_counters AS r WHERE r.id = q.key)
), counted AS (
	INSERT INTO rate_counters AS r (id, minute, count)
	SELECT key, minute, count FROM free ORDER BY key
	ON CONFLICT (id) DO UPDATE SET
		minute = CASE WHEN r.minute = excluded.minute + 1 THEN r.minute ELSE excluded.minute END,
		count = CASE WHEN r.minute - excluded.minute IN (0, 1) THEN r.count ELSE 0 END + excluded.count
	RETURNING id, count
)
SELECT position, floor(extract(epoch FROM at) * 1000)::bigint, coalesce(count, 0), key, name, scopes, expires_at, revoked_at,
	store, slug, currency, country, status, payment_links_open, unavailable_types, platform_fee_percent
FROM asked LEFT JOIN counted ON counted.id = asked.key

-- name: unknown
-- The lock timeout bounds the wait for a counter that another session has locked.
INSERT INTO address_counters AS a (id, minute, count)
SELECT $2::text, floor(extract(epoch FROM coalesce($3::timestamptz, now())) / 60)::bigint, 1
FROM set_config('lock_timeout', '25ms', true)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN a.minute = excluded.minute + 1 THEN a.minute ELSE excluded.minute END,
	count = CASE WHEN a.minute - excluded.minute IN (0, 1) THEN a.count + 1 ELSE 1 END
RETURNING
	floor(extract(epoch FROM coalesce($3::timestamptz, now())) * 1000)::bigint,
	count,
	EXISTS (SELECT FROM api_keys WHERE fingerprint = $1::bytea)

-- name: uses
WITH used AS (
	SELECT k.id, timestamptz 'epoch' + u.at::bigint * interval '1 millisecond' AS at
	FROM json_each_text($1::json) AS u (id, at)
	JOIN api_keys AS k ON k.id = u.id::uuid
	ORDER BY k.id
	FOR NO KEY UPDATE OF k
)
UPDATE api_keys AS k SET last_used_at = used.at FROM used
WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < used.at)

-- name: sweep
DELETE FROM address_counters WHERE id IN (
	SELECT id FROM address_counters
	WHERE minute < floor(extract(epoch FROM coalesce($1::timestamptz, now())) / 60)::bigint - 1
	FOR UPDATE SKIP LOCKED) -- rows locked by another server are left to the next sweep
