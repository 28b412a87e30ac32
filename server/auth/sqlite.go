package auth

import "context"

// sqlite holds the statements for SQLite, which run on its one writer. The gate always passes the
// time, as Unix milliseconds. Parameters are ?N, because SQLite numbers $N by their first
// appearance. See postgres for how counters restart.
//
// JSON columns hold text that may be stored as a blob, hence the casts.
var sqlite = statements{
	known: `
INSERT INTO rate_counters AS r (id, minute, count)
SELECT k.id, ?3 / 60000, 1
FROM api_keys AS k
WHERE k.fingerprint = ?1 AND NOT EXISTS (
	SELECT 1 FROM address_counters AS a
	WHERE a.id = ?2 AND a.minute IN (?3 / 60000, ?3 / 60000 + 1)
	AND a.count > ?4)
ON CONFLICT (id) DO UPDATE SET
	minute = CASE WHEN r.minute = excluded.minute + 1 THEN r.minute ELSE excluded.minute END,
	count = CASE WHEN r.minute - excluded.minute IN (0, 1) THEN r.count + 1 ELSE 1 END
RETURNING
	?3,
	count,
	(SELECT k.id || char(31) || k.name || char(31) || CAST(k.scopes AS TEXT) || char(31)
		|| ifnull(k.expires_at, '') || char(31) || ifnull(k.revoked_at, '') || char(31)
		|| s.id || char(31) || s.slug || char(31) || s.currency || char(31) || s.country || char(31) || s.status || char(31)
		|| iif(s.payment_links_open, 't', 'f') || char(31) || CAST(s.unavailable_types AS TEXT) || char(31)
		|| s.platform_fee_percent
	FROM api_keys AS k
	JOIN stores AS s ON s.id = k.store_id
	WHERE k.fingerprint = ?1)`,

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

	sweep: `DELETE FROM address_counters WHERE minute < ?1 / 60000 - 1`,
}

// sqliteAsker asks one question after the other, in one transaction.
type sqliteAsker struct{ database }

func (d sqliteAsker) askAll(ctx context.Context, questions []question) ([]finding, error) {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	found := make([]finding, len(questions))
	for i, q := range questions {
		if found[i], err = d.statements.ask(ctx, tx, q); err != nil {
			return nil, err
		}
	}
	return found, tx.Commit()
}
