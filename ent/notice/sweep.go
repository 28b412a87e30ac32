package notice

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
)

const day = 24 * time.Hour

var (
	// failingSteps are for how long a webhook has failed when its notices are due. The first step is so long that a webhook which
	// fails and succeeds in turns causes none.
	failingSteps = []time.Duration{time.Hour, day, 2 * day}
	// expirySteps are how long before a key's expiry its notices are due.
	expirySteps = []time.Duration{14 * day, 3 * day, 0}
)

// Sweep writes the notices that have become due since the last sweep of any process: of webhooks that have failed for long, and
// of keys that expire soon or have expired. If several of one webhook or key have become due, it writes the last one.
func Sweep(ctx context.Context, d *db.DB) error {
	err := hook.Run(ctx, d, func(c *hook.Change) error {
		if _, err := c.Tx.ExecContext(c, "INSERT INTO clock_marks (id, seen_at) VALUES ('notices', $1) ON CONFLICT DO NOTHING",
			d.Now()); err != nil {
			return err
		}
		last, err := lockMark(c, d, c.Tx)
		if err != nil {
			return err
		}
		now := c.Time()
		if _, err := c.Tx.ExecContext(c, "UPDATE clock_marks SET seen_at = $1 WHERE id = 'notices'", now); err != nil {
			return err
		}
		due, err := failingWebhooks(c, c.Tx, last, now)
		if err != nil {
			return fmt.Errorf("look for failing webhooks: %w", err)
		}
		keys, err := expiringKeys(c, c.Tx, last, now)
		if err != nil {
			return fmt.Errorf("look for expiring keys: %w", err)
		}
		for _, n := range append(due, keys...) {
			if err := Write(c, d, c.Tx, now, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sweep for notices: %w", err)
	}
	return nil
}

// lockMark returns the time of the last sweep, whose row it locks until the transaction ends; the zero time if there was none.
func lockMark(ctx context.Context, d *db.DB, tx fanout.Tx) (swept time.Time, err error) {
	_, err = scanRow(ctx, tx, "read the time of the last sweep", "SELECT seen_at FROM clock_marks WHERE id = 'notices'"+d.RowLock(""), nil,
		&swept)
	return swept, err
}

// reached returns a condition: a time that is one of the offsets after the time in the column lies after last, not after now.
func reached(args *db.Args, column string, last, now time.Time, offsets []time.Duration) string {
	var any []string
	for _, offset := range offsets {
		any = append(any, column+" > "+args.Add(last.Add(-offset))+" AND "+column+" <= "+args.Add(now.Add(-offset)))
	}
	return "(" + strings.Join(any, " OR ") + ")"
}

func failingWebhooks(ctx context.Context, tx fanout.Tx, last, now time.Time) (due []Notice, err error) {
	var args db.Args
	query := "SELECT id, store_id, url, description, failing_since FROM webhooks WHERE store_id <> " + args.Add(NoStore) + " AND enabled AND " +
		reached(&args, "failing_since", last, now, failingSteps)
	for row := range db.Rows(ctx, tx, query, args...) {
		var w Webhook
		if err := row.Scan(&w.ID, &w.StoreID, &w.URL, &w.Description, &w.FailingSince); err != nil {
			return nil, err
		}
		n := w.about(WebhookFailing)
		n.Data["hours"] = int(now.Sub(w.FailingSince) / time.Hour)
		due = append(due, n)
	}
	return due, nil
}

func expiringKeys(ctx context.Context, tx fanout.Tx, last, now time.Time) (due []Notice, err error) {
	var args db.Args
	before := make([]time.Duration, len(expirySteps))
	for i, step := range expirySteps {
		before[i] = -step
	}
	query := "SELECT id, store_id, name, expires_at FROM api_keys WHERE revoked_at IS NULL AND " +
		reached(&args, "expires_at", last, now, before)
	for row := range db.Rows(ctx, tx, query, args...) {
		var id, store uuid.UUID
		var name string
		var expires time.Time
		if err := row.Scan(&id, &store, &name, &expires); err != nil {
			return nil, err
		}
		n := Notice{Type: KeyExpired, StoreID: store, Data: map[string]any{"keyId": id, "name": name, "expiresAt": expires}}
		if remaining := expires.Sub(now); remaining > 0 {
			n.Type, n.Data["days"] = KeyExpiring, int(math.Ceil(remaining.Hours()/24))
		}
		due = append(due, n)
	}
	return due, nil
}
