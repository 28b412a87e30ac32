package auth

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"go.storefront.example/server/ratelimit"
)

// postgres asks PostgreSQL: everything about a request in one statement.
type postgres struct{ db *sql.DB }

// A counter's row restarts when the minute has turned. A row that is one minute ahead was counted
// by a request that overtook this one, and goes on; one further ahead was written before a clock
// was set back, and restarts, or the key would be limited until the clock is there again.
const postgresAsk = `
WITH clock AS (
	SELECT t AS now, floor(extract(epoch FROM t) / 60)::bigint AS minute
	FROM (SELECT coalesce($2::timestamptz, now()) AS t) AS c
), address AS (
	SELECT
		coalesce((SELECT a.count FROM address_counters AS a
			WHERE a.id = $3::text AND a.minute IN (clock.minute, clock.minute + 1)), 0) AS stored,
		CASE WHEN clock.minute = $4::bigint THEN $5::integer ELSE 0 END AS pending
	FROM clock
), key AS (
	SELECT k.id, json_build_object(
		'id', k.id, 'name', k.name, 'scopes', k.scopes,
		'expires', (extract(epoch FROM k.expires_at) * 1000)::bigint,
		'revoked', (extract(epoch FROM k.revoked_at) * 1000)::bigint,
		'store', json_build_object(
			'id', s.id, 'slug', s.slug, 'currency', s.currency, 'country', s.country, 'status', s.status,
			'payment_links_open', s.payment_links_open, 'unavailable_types', s.unavailable_types,
			'platform_fee_percent', s.platform_fee_percent)) AS subject
	FROM api_keys AS k
	JOIN stores AS s ON s.id = k.store_id
	WHERE k.fingerprint = $1::bytea AND (SELECT stored + pending FROM address) <= $6::integer
), counted AS (
	INSERT INTO rate_counters AS r (id, minute, count)
	SELECT key.id, clock.minute, 1 FROM key, clock
	ON CONFLICT (id) DO UPDATE SET
		minute = CASE WHEN r.minute = excluded.minute + 1 THEN r.minute ELSE excluded.minute END,
		count = CASE WHEN r.minute - excluded.minute IN (0, 1) THEN r.count + 1 ELSE 1 END
	RETURNING r.count
), unknown AS (
	INSERT INTO address_counters AS a (id, minute, count)
	SELECT $3::text, clock.minute, 1 FROM clock, address
	WHERE address.stored + address.pending <= $6::integer AND NOT EXISTS (SELECT FROM key)
	ON CONFLICT (id) DO UPDATE SET
		minute = CASE WHEN a.minute = excluded.minute + 1 THEN a.minute ELSE excluded.minute END,
		count = CASE WHEN a.minute - excluded.minute IN (0, 1) THEN a.count + 1 ELSE 1 END
	RETURNING a.count
)
SELECT clock.now, coalesce(unknown.count, address.stored), address.pending, key.subject, coalesce(counted.count, 0)
FROM clock
CROSS JOIN address
LEFT JOIN key ON true
LEFT JOIN counted ON true
LEFT JOIN unknown ON true`

func (p postgres) ask(ctx context.Context, q question) (finding, error) {
	var (
		f              finding
		pending, count int
		subject        []byte
	)
	err := p.db.QueryRowContext(ctx, postgresAsk, q.fingerprint[:], q.now, q.address,
		q.pendingMinute, q.pending, ratelimit.UnknownKeysPerMinute).
		Scan(&f.now, &f.stored, &pending, &subject, &count)
	if err != nil {
		return finding{}, err
	}
	f.now = f.now.UTC()
	f.unknown = f.stored + pending
	if subject != nil {
		err = f.found(subject, count)
	}
	return f, err
}

// Rows are locked in the order of their ids, or two servers writing the same addresses could wait
// for each other.
const postgresAddUnknown = `
INSERT INTO address_counters AS a (id, minute, count)
SELECT u.id, u.minute, u.count FROM json_to_recordset($1::json) AS u (id text, minute bigint, count integer)
ORDER BY u.id
ON CONFLICT (id) DO UPDATE SET
	minute = greatest(a.minute, excluded.minute),
	count = CASE
		WHEN a.minute = excluded.minute THEN a.count + excluded.count
		WHEN a.minute > excluded.minute THEN a.count
		ELSE excluded.count END
RETURNING a.id, a.count`

func (p postgres) addUnknown(ctx context.Context, deltas []delta, stored map[string]int) error {
	return addUnknown(ctx, p.db, postgresAddUnknown, deltas, stored)
}

// Locked in the order of ids, as above.
const postgresWriteUses = `
WITH used AS (
	SELECT k.id, timestamptz 'epoch' + u.at * interval '1 millisecond' AS at
	FROM json_to_recordset($1::json) AS u (id uuid, at bigint)
	JOIN api_keys AS k ON k.id = u.id
	ORDER BY k.id
	FOR NO KEY UPDATE OF k
)
UPDATE api_keys AS k SET last_used_at = used.at FROM used
WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < used.at)`

func (p postgres) writeUses(ctx context.Context, list []use) error {
	return writeUses(ctx, p.db, postgresWriteUses, list)
}

// A row that another server holds is left to the next sweep.
const postgresSweep = `
DELETE FROM address_counters WHERE id IN (
	SELECT id FROM address_counters
	WHERE minute < floor(extract(epoch FROM coalesce($1::timestamptz, now())) / 60)::bigint - 1
	FOR UPDATE SKIP LOCKED)`

func (p postgres) sweep(ctx context.Context, now *time.Time) error {
	_, err := p.db.ExecContext(ctx, postgresSweep, now)
	return err
}

// addUnknown runs a dialect's statement of that name: its one parameter is the deltas in JSON, and
// it returns the id and the count of each address.
func addUnknown(ctx context.Context, db *sql.DB, statement string, deltas []delta, stored map[string]int) error {
	text, err := json.Marshal(deltas)
	if err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, statement, string(text))
	if err != nil {
		return err
	}
	defer rows.Close()
	sent := make(map[string]int, len(deltas))
	for rows.Next() {
		var (
			address string
			count   int
		)
		if err := rows.Scan(&address, &count); err != nil {
			return err
		}
		sent[address] = count
	}
	if err := rows.Err(); err != nil {
		return err // nothing of the statement stands
	}
	for address, count := range sent {
		stored[address] = count
	}
	return nil
}

// writeUses runs a dialect's statement of that name: its one parameter is the uses in JSON.
func writeUses(ctx context.Context, db *sql.DB, statement string, list []use) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement, string(text))
	return err
}
