package notice

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
)

// What the platform has been told of a key's expiry, its column notice_level.
const (
	valid = iota
	expiring
	expiringSoon
	expired
)

// When a key's expiry is told. One that expired longer ago than forgotten is not told: it was over before notices were.
const (
	expiringAhead     = 14 * day
	expiringSoonAhead = 3 * day
	forgotten         = 7 * day
)

// sweepBatch is how many rows one statement finds.
const sweepBatch = 200

// Sweep writes the notices that time brings: of webhooks that have failed for a day or two, of keys that expire, and what
// holds since before there was a sink. Several processes may sweep at once.
func Sweep(ctx context.Context, s *db.DB) error {
	if _, on, err := sink(ctx, s.Reader()); err != nil || !on {
		return err
	}
	now := s.Now()
	err := each(ctx, s, func(ctx context.Context, tx *ent.Tx, webhookID uuid.UUID) error {
		return Webhook(ctx, s, tx, webhookID, hook.Time(ctx))
	}, `SELECT id FROM webhooks WHERE id > $1 AND store_id <> $2 AND (
 enabled AND failing_since IS NOT NULL
  AND notice_level < CASE WHEN failing_since <= $3 THEN 3 WHEN failing_since <= $4 THEN 2 ELSE 1 END
 OR enabled AND failing_since IS NULL AND notice_level BETWEEN 1 AND 3
 OR NOT enabled AND disabled_automatically AND notice_level < 4)`, Platform, now.Add(-2*day), now.Add(-day))
	if err != nil {
		return fmt.Errorf("sweep webhooks for notices: %w", err)
	}
	err = each(ctx, s, func(ctx context.Context, tx *ent.Tx, keyID uuid.UUID) error {
		return key(ctx, s, tx, keyID, hook.Time(ctx))
	}, `SELECT id FROM api_keys WHERE id > $1 AND revoked_at IS NULL AND expires_at > $2 AND expires_at <= $3
 AND notice_level < CASE WHEN expires_at <= $4 THEN 3 WHEN expires_at <= $5 THEN 2 ELSE 1 END`,
		now.Add(-forgotten), now.Add(expiringAhead), now, now.Add(expiringSoonAhead))
	if err != nil {
		return fmt.Errorf("sweep keys for notices: %w", err)
	}
	return nil
}

// each calls fn with every id that a query finds, in a transaction for each: $1 of the query is the id to begin after.
func each(ctx context.Context, s *db.DB, fn func(context.Context, *ent.Tx, uuid.UUID) error, query string, args ...any) error {
	after := uuid.Nil
	for {
		found := make([]uuid.UUID, 0, sweepBatch)
		for row := range db.Rows(ctx, s.Reader(), query+fmt.Sprintf(" ORDER BY id LIMIT %d", sweepBatch),
			append([]any{after}, args...)...) {
			if err := row.Scan(&after); err != nil {
				return err
			}
			found = append(found, after)
		}
		for _, id := range found {
			if err := s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error { return fn(ctx, tx, id) }); err != nil {
				return err
			}
		}
		if len(found) < sweepBatch {
			return nil
		}
	}
}

// key writes what the platform is to be told of a key's expiry now, if anything.
func key(ctx context.Context, s *db.DB, tx Tx, keyID uuid.UUID, now time.Time) error {
	var store uuid.UUID
	var name string
	var expires time.Time
	var told int
	err := one(ctx, tx, "SELECT store_id, name, expires_at, notice_level FROM api_keys WHERE id = $1 AND revoked_at IS NULL AND "+
		here+s.RowLock(db.SkipLocked), []any{keyID}, &store, &name, &expires, &told)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what was told of a key: %w", err)
	}
	left := expires.Sub(now)
	n := Notice{StoreID: store, Type: KeyExpiring, Page: "/keys", About: map[string]any{"key": keyID, "name": name,
		"expiresAt": stamp(expires)}}
	state := valid
	switch {
	case left <= 0:
		state, n.Type = expired, KeyExpired
		n.Text = fmt.Sprintf("The API key %q expired on %s, and requests with it are refused. If a tool still needs it, create "+
			"another "+
			"key and give it to the tool.", name, spoken(expires))
	case left <= expiringAhead:
		if state = expiring; left <= expiringSoonAhead {
			state = expiringSoon
		}
		days := int(math.Ceil(left.Hours() / 24))
		n.About["days"] = days
		n.Text = fmt.Sprintf("The API key %q expires in %s, on %s. Create another key, give it to the tool that uses this one, then "+
			"revoke this one.", name, plural(days, "day"), spoken(expires))
	}
	if state <= told {
		return nil
	}
	if written, err := Write(ctx, tx, now, n); err != nil || written == uuid.Nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE api_keys SET notice_level = $1 WHERE id = $2", state, keyID)
	return err
}

// plural is a number with what it counts.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
