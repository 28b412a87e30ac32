package auth

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"go.storefront.example/server/ratelimit"
)

// sqlite asks SQLite, through the writer: its upsert cannot stand in a WITH clause, but can return
// what a subquery reads. Only an unknown key takes a second statement. The gate always tells it the
// time. Parameters are numbered with ?N, as SQLite numbers $N by their first appearance.
type sqlite struct{ db *sql.DB }

// The minute of a row is judged as on PostgreSQL. JSON columns hold text that may be stored as a
// blob, which the JSON functions would take for their binary form, hence the casts.
const sqliteAsk = `
INSERT INTO rate_counters (id, minute, count)
SELECT k.id, ?2, 1 FROM api_keys AS k
WHERE k.fingerprint = ?1 AND ?5 + coalesce((
	SELECT a.count FROM address_counters AS a WHERE a.id = ?3 AND a.minute IN (?2, ?2 + 1)), 0) <= ?4
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN rate_counters.minute = excluded.minute + 1 THEN rate_counters.minute ELSE excluded.minute END,
	count = CASE WHEN rate_counters.minute - excluded.minute IN (0, 1) THEN rate_counters.count + 1 ELSE 1 END
RETURNING
	count,
	coalesce((SELECT a.count FROM address_counters AS a WHERE a.id = ?3 AND a.minute IN (?2, ?2 + 1)), 0),
	(SELECT json_object(
		'id', k.id, 'name', k.name, 'scopes', json(CAST(k.scopes AS TEXT)),
		'expires', k.expires_at, 'revoked', k.revoked_at,
		'store', json_object(
			'id', s.id, 'slug', s.slug, 'currency', s.currency, 'country', s.country, 'status', s.status,
			'payment_links_open', json(iif(s.payment_links_open, 'true', 'false')),
			'unavailable_types', json(CAST(s.unavailable_types AS TEXT)),
			'platform_fee_percent', s.platform_fee_percent))
	FROM api_keys AS k
	JOIN stores AS s ON s.id = k.store_id
	WHERE k.fingerprint = ?1)`

// One more request with an unknown key, or with any key from an address beyond its limit, where
// counting on changes nothing.
const sqliteUnknown = `
INSERT INTO address_counters (id, minute, count) VALUES (?1, ?2, 1)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN address_counters.minute = excluded.minute + 1 THEN address_counters.minute ELSE excluded.minute END,
	count = CASE WHEN address_counters.minute - excluded.minute IN (0, 1) THEN address_counters.count + 1 ELSE 1 END
RETURNING count`

func (s sqlite) ask(ctx context.Context, q question) (finding, error) {
	f := finding{now: *q.now}
	minute := ratelimit.Minute(f.now)
	pending := 0
	if q.pendingMinute == minute {
		pending = q.pending
	}
	var (
		count   int
		subject []byte
	)
	err := s.db.QueryRowContext(ctx, sqliteAsk, q.fingerprint[:], minute, q.address,
		ratelimit.UnknownKeysPerMinute, pending).
		Scan(&count, &f.stored, &subject)
	if err == nil {
		f.unknown = f.stored + pending
		return f, f.found(subject, count)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return finding{}, err
	}
	if err := s.db.QueryRowContext(ctx, sqliteUnknown, q.address, minute).Scan(&f.stored); err != nil {
		return finding{}, err
	}
	f.unknown = f.stored + pending
	return f, nil
}

// WHERE true tells SQLite's parser that ON belongs to the upsert and not to a join.
const sqliteAddUnknown = `
INSERT INTO address_counters (id, minute, count)
SELECT value->>'id', value->>'minute', value->>'count' FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET
	minute = max(address_counters.minute, excluded.minute),
	count = CASE
		WHEN address_counters.minute = excluded.minute THEN address_counters.count + excluded.count
		WHEN address_counters.minute > excluded.minute THEN address_counters.count
		ELSE excluded.count END
RETURNING id, count`

func (s sqlite) addUnknown(ctx context.Context, deltas []delta, stored map[string]int) error {
	return addUnknown(ctx, s.db, sqliteAddUnknown, deltas, stored)
}

// Times are stored as Unix milliseconds, the very numbers of the uses.
const sqliteWriteUses = `
UPDATE api_keys SET last_used_at = u.at
FROM (SELECT value->>'id' AS id, value->>'at' AS at FROM json_each(?1)) AS u
WHERE api_keys.id = u.id AND (last_used_at IS NULL OR last_used_at < u.at)`

func (s sqlite) writeUses(ctx context.Context, list []use) error {
	return writeUses(ctx, s.db, sqliteWriteUses, list)
}

const sqliteSweep = `DELETE FROM address_counters WHERE minute < ?1 - 1`

func (s sqlite) sweep(ctx context.Context, now *time.Time) error {
	_, err := s.db.ExecContext(ctx, sqliteSweep, ratelimit.Minute(*now))
	return err
}
