package notice

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
)

// Values of a key's notice_level, which says which notice about the key's expiry was written last.
const (
	valid = iota
	expiring
	expiringSoon
	expired
)

// expiringAhead and expiringSoonAhead are how long before a key's expiry its two notices are due. A key that expired longer
// than maxExpiredAge ago gets no notice about its expiry.
const (
	expiringAhead     = 14 * day
	expiringSoonAhead = 3 * day
	maxExpiredAge     = 7 * day
)

// Sweep writes the notices for which the time has come: about webhooks that have failed for one or two days, about keys that
// expire soon or have expired, and about states that began while there was no sink. Several processes may sweep at once.
func Sweep(ctx context.Context, d *db.DB) error {
	if _, enabled, err := sink(ctx, d.Reader()); err != nil || !enabled {
		return err
	}
	now := d.Now()
	if err := forEachID(ctx, d, WriteForWebhook, `SELECT id FROM webhooks WHERE store_id <> $1 AND (
 enabled AND failing_since IS NOT NULL
  AND notice_level < CASE WHEN failing_since <= $2 THEN 3 WHEN failing_since <= $3 THEN 2 ELSE 1 END
 OR enabled AND failing_since IS NULL AND notice_level BETWEEN 1 AND 3
 OR NOT enabled AND disabled_automatically AND notice_level < 4)`, Platform, now.Add(-2*day), now.Add(-day)); err != nil {
		return fmt.Errorf("sweep webhooks for notices: %w", err)
	}
	if err := forEachID(ctx, d, writeForKey, `SELECT id FROM api_keys
 WHERE revoked_at IS NULL AND expires_at > $1 AND expires_at <= $2 AND notice_level < CASE WHEN expires_at <= $3 THEN 3 WHEN expires_at <= $4 THEN 2 ELSE 1 END`,
		now.Add(-maxExpiredAge), now.Add(expiringAhead), now, now.Add(expiringSoonAhead)); err != nil {
		return fmt.Errorf("sweep keys for notices: %w", err)
	}
	return nil
}

// forEachID runs a query that finds ids. For each id it calls write in a transaction of its own.
func forEachID(ctx context.Context, d *db.DB, write func(context.Context, *db.DB, fanout.Tx, uuid.UUID, time.Time) error, query string,
	args ...any) error {
	var found []uuid.UUID
	for row := range db.Rows(ctx, d.Reader(), query, args...) {
		var id uuid.UUID
		if err := row.Scan(&id); err != nil {
			return err
		}
		found = append(found, id)
	}
	for _, id := range found {
		if err := hook.Run(ctx, d, func(c *hook.Change) error {
			return write(c, d, c.Tx, id, c.Time())
		}); err != nil {
			return err
		}
	}
	return nil
}

// writeForKey writes a notice about the expiry of a key if one is due at the time now.
func writeForKey(ctx context.Context, d *db.DB, tx fanout.Tx, keyID uuid.UUID, now time.Time) error {
	var store uuid.UUID
	var name string
	var expires time.Time
	var level int
	if found, err := scanRow(ctx, tx, "read the notice level of a key",
		"SELECT store_id, name, expires_at, notice_level FROM api_keys WHERE id = $1 AND revoked_at IS NULL"+
			d.RowLock(db.SkipLocked), []any{keyID}, &store, &name, &expires, &level); !found {
		return err
	}
	remaining := expires.Sub(now)
	n := Notice{StoreID: store, Type: KeyExpiring, Page: "/keys", About: map[string]any{"key": keyID, "name": name,
		"expiresAt": timeJSON(expires)}}
	state := valid
	switch {
	case remaining <= 0:
		state, n.Type = expired, KeyExpired
		n.Text = fmt.Sprintf("The API key %q expired on %s, and requests with it are refused. If a tool still needs it, create "+
			"another key and give it to the tool.", name, mailTime(expires))
	case remaining <= expiringAhead:
		if state = expiring; remaining <= expiringSoonAhead {
			state = expiringSoon
		}
		days, unit := int(math.Ceil(remaining.Hours()/24)), "days"
		if days == 1 {
			unit = "day"
		}
		n.About["days"] = days
		n.Text = fmt.Sprintf("The API key %q expires in %d %s, on %s. Create another key, give it to the tool that uses this one, "+
			"then revoke this one.", name, days, unit, mailTime(expires))
	}
	if state <= level {
		return nil
	}
	if written, err := Write(ctx, d, tx, now, n); err != nil || written == uuid.Nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE api_keys SET notice_level = $1 WHERE id = $2", state, keyID)
	return err
}
