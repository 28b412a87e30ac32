package auth

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/limit"
)

// postgresSubject is the text of a subject, of the key k and the store s.
const postgresSubject = `concat(
		k.id, E'\x1f', k.name, E'\x1f', k.scopes, E'\x1f',
		(extract(epoch FROM k.expires_at) * 1000)::bigint, E'\x1f',
		(extract(epoch FROM k.revoked_at) * 1000)::bigint, E'\x1f',
		s.id, E'\x1f', s.slug, E'\x1f', s.currency, E'\x1f', s.country, E'\x1f', s.status, E'\x1f',
		s.payment_links_open, E'\x1f', s.unavailable_types, E'\x1f', s.platform_fee_percent)`

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
	(SELECT ` + postgresSubject + `
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

// postgresAll does what known does, for several look-ups: for each whose key exists and whose client is
// within its limit it returns the time, its position from 1, the key's counter after all of them, and the
// subject. It locks counters in the order of their ids, so that the statements of two servers cannot
// deadlock. Keys and stores are looked up in scalar subqueries, one by one: a join was planned as a hash of
// all keys. The arrays are in subqueries so that a plan for their actual lengths is no cheaper, and
// PostgreSQL stops planning anew, which took longer than all else. It waits for a lock for a tenth of a
// second at most: otherwise one locked counter would delay all look-ups. Parameters: fingerprints;
// clients; time or null; limit of unknown keys.
const postgresAll = `
WITH asked AS MATERIALIZED (
	SELECT q.position, t.minute, (
		SELECT k.id FROM api_keys AS k
		WHERE k.fingerprint = q.fingerprint AND NOT EXISTS (
			SELECT FROM address_counters AS a
			WHERE a.id = q.client AND a.minute IN (t.minute, t.minute + 1) AND a.count > $4::integer)
	) AS key
	FROM (SELECT floor(extract(epoch FROM coalesce($3::timestamptz, now())) / 60)::bigint AS minute,
			set_config('lock_timeout', '100ms', true)) AS t,
		unnest((SELECT $1::bytea[]), (SELECT $2::text[])) WITH ORDINALITY AS q (fingerprint, client, position)
), counted AS (
	INSERT INTO rate_counters AS r (id, minute, count)
	SELECT key, min(minute), count(*) FROM asked WHERE key IS NOT NULL GROUP BY key ORDER BY key
	ON CONFLICT (id) DO UPDATE SET
		minute = CASE WHEN r.minute = excluded.minute + 1 THEN r.minute ELSE excluded.minute END,
		count = CASE WHEN r.minute - excluded.minute IN (0, 1) THEN r.count ELSE 0 END + excluded.count
	RETURNING id, count, (SELECT ` + postgresSubject + ` FROM api_keys AS k JOIN stores AS s ON s.id = k.store_id WHERE k.id = r.id) AS subject
)
SELECT floor(extract(epoch FROM coalesce($3::timestamptz, now())) * 1000)::bigint, asked.position, counted.count, counted.subject
FROM counted JOIN asked ON asked.key = counted.id`

// postgresKeys counts on the database alone, which several servers share.
type postgresKeys struct{ database }

func newPostgresKeys(s *db.DB) postgresKeys {
	return postgresKeys{database{s.Admissions(), postgres}}
}

func (d postgresKeys) find(ctx context.Context, q lookup) (result, error) {
	return q.find(func() (result, error) { return d.findKnown(ctx, d.DB, q) },
		func() (result, bool, error) { return d.countUnknown(ctx, d.DB, q) })
}

// findAll finds known keys in one statement, as if their look-ups ran one after the other.
// For unknown keys it returns zero results and counts nothing.
func (d postgresKeys) findAll(ctx context.Context, lookups []lookup) ([]result, error) {
	fingerprints, clients := make(pq.ByteaArray, len(lookups)), make(pq.StringArray, len(lookups))
	for i, q := range lookups {
		fingerprints[i], clients[i] = q.fingerprint[:], q.client
	}
	found := make([]result, len(lookups))
	for row := range db.Rows(ctx, d.DB, postgresAll, fingerprints, clients, lookups[0].now, limit.UnknownKeysPerMinute) {
		var (
			now             int64
			position, count int
			subject         string
		)
		if err := row.Scan(&now, &position, &count, &subject); err != nil {
			return nil, err
		}
		f := &found[position-1]
		f.count = count
		if err := f.setKnown(now, subject); err != nil {
			return nil, err
		}
	}
	later := make(map[uuid.UUID]int, len(lookups)) // how many of a key's lookups come after the one at hand
	for i := range slices.Backward(found) {
		if key := found[i].principal.KeyID; found[i].known {
			found[i].count -= later[key]
			later[key]++
		}
	}
	return found, nil
}

// writeCounts has nothing to do: nothing is counted in memory.
func (d postgresKeys) writeCounts(context.Context) error { return nil }
