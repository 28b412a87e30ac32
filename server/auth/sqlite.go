package auth

import (
	"context"
	"database/sql"
	"encoding/json"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/limit"
)

// sqlite holds the statements for SQLite. The gate always passes the time, as Unix milliseconds.
// Parameters are ?N, because SQLite numbers $N by their first appearance. Known only reads; see
// postgres for how the counters of clients restart.
//
// JSON columns hold text that may be stored as a blob, hence the casts.
var sqlite = statements{
	known: `
SELECT
	?3,
	ifnull((SELECT r.count FROM rate_counters AS r WHERE r.id = k.id AND r.minute IN (?3 / 60000, ?3 / 60000 + 1)), 0),
	k.id || char(31) || k.name || char(31) || CAST(k.scopes AS TEXT) || char(31)
		|| ifnull(k.expires_at, '') || char(31) || ifnull(k.revoked_at, '') || char(31)
		|| s.id || char(31) || s.slug || char(31) || s.currency || char(31) || s.country || char(31) || s.status || char(31)
		|| iif(s.payment_links_open, 't', 'f') || char(31) || CAST(s.unavailable_types AS TEXT) || char(31)
		|| s.platform_fee_percent
FROM api_keys AS k
JOIN stores AS s ON s.id = k.store_id
WHERE k.fingerprint = ?1 AND NOT EXISTS (
	SELECT 1 FROM address_counters AS a
	WHERE a.id = ?2 AND a.minute IN (?3 / 60000, ?3 / 60000 + 1)
	AND a.count > ?4)`,

	unknown: `
INSERT INTO address_counters AS a (id, minute, count) VALUES (?2, ?3 / 60000, 1)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN a.minute = excluded.minute + 1 THEN a.minute ELSE excluded.minute END,
	count = CASE WHEN a.minute - excluded.minute IN (0, 1) THEN a.count + 1 ELSE 1 END
RETURNING
	?3,
	count,
	EXISTS (SELECT 1 FROM api_keys WHERE fingerprint = ?1)`,

	writeUses: `
UPDATE api_keys SET last_used_at = u.at
FROM (SELECT value->>'id' AS id, value->>'at' AS at FROM json_each(?1)) AS u
WHERE api_keys.id = u.id AND (last_used_at IS NULL OR last_used_at < u.at)`,

	writeCounts: `
INSERT INTO rate_counters (id, minute, count)
SELECT value->>'id', ?2, value->>'count' FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET minute = excluded.minute, count = excluded.count`,

	sweep: `DELETE FROM address_counters WHERE minute < ?1 / 60000 - 1`,
}

// sqliteKeys looks keys up on connections that only read, and counts their requests in memory: an SQLite
// file has one server. If each request wrote its counter, it would wait for the one writer, and every
// write empties the caches of all connections that read.
type sqliteKeys struct {
	database         // on the writer
	reader   *sql.DB // for known keys
	counters *counters
}

func newSQLiteKeys(s *db.DB) sqliteKeys {
	return sqliteKeys{database: database{s.Writer(), sqlite}, reader: s.Admissions(), counters: new(counters)}
}

func (d sqliteKeys) find(ctx context.Context, q lookup) (result, error) {
	return q.find(func() (result, error) {
		found, err := d.findKnown(ctx, d.reader, q)
		if err == nil {
			found.count = d.counters.add(found.principal.KeyID, limit.Minute(*q.now), found.count)
		}
		return found, err
	}, func() (result, bool, error) { return d.countUnknown(ctx, d.DB, q) })
}

func (d sqliteKeys) writeCounts(ctx context.Context) error {
	minute, list := d.counters.take()
	for len(list) > 0 {
		batch := list[:min(batchSize, len(list))]
		text, err := json.Marshal(batch)
		if err == nil {
			_, err = d.ExecContext(ctx, d.statements.writeCounts, string(text), minute)
		}
		if err != nil {
			d.counters.keep(minute, list)
			return err
		}
		list = list[len(batch):]
	}
	return nil
}
