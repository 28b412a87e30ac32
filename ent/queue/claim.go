package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// Want asks for deliveries of a lane.
type Want struct {
	Lane
	// Max is how many to lease at most.
	Max int
	// After is where the lane's last claim ended, as Claimed told; zero starts from the oldest.
	After time.Time
}

// Claimed is what one claim got.
type Claimed struct {
	Deliveries []Delivery
	// Ends tells for each lane that had anything where the next claim of it starts.
	Ends map[Lane]time.Time
}

const (
	claimPostgres = `WITH want AS (
 SELECT r.store_id, r.webhook_id, r.retry, r.max, GREATEST(r.after, w.epoch_since) AS after
 FROM jsonb_to_recordset($2::jsonb) AS r(store_id uuid, webhook_id uuid, retry boolean, max integer, after timestamptz)
 CROSS JOIN LATERAL (SELECT epoch_since FROM webhooks w WHERE w.store_id = r.store_id AND w.id = r.webhook_id AND w.enabled LIMIT 1) w),
due AS (
 SELECT f.place, f.due_at FROM want CROSS JOIN LATERAL (
  SELECT d.ctid AS place, d.due_at FROM deliveries d
  WHERE d.store_id = want.store_id AND d.webhook_id = want.webhook_id AND d.retry = want.retry
   AND d.due_at >= want.after AND d.due_at <= ` + present + `
  ORDER BY d.due_at, d.id LIMIT want.max FOR UPDATE SKIP LOCKED) f),
leased AS (
 UPDATE deliveries d SET lease = gen_random_uuid(), due_at = ` + present + ` + $3::bigint * interval '1 millisecond'
 FROM due WHERE d.ctid = due.place
 RETURNING d.*, due.due_at AS was_due_at)
SELECT d.id, d.lease, d.store_id, d.webhook_id, d.retry, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch, d.was_due_at,
 COALESCE(w.enabled, false), w.url, w.secret, w.secret_key, e.payload, e.request_id, e.trace
 FROM leased d
 LEFT JOIN LATERAL (SELECT * FROM webhooks w WHERE w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + ` LIMIT 1) w ON true
 LEFT JOIN LATERAL (SELECT payload, request_id, trace FROM events WHERE id >= d.event_id AND id <= d.event_id ORDER BY id LIMIT 1) e ON true
 ORDER BY d.was_due_at, d.id`

	// The lease is the same for all rows of a claim; a token need only differ from those before.
	claimSQLite = `UPDATE deliveries SET lease = $1, due_at = $2 WHERE id IN (
 SELECT id FROM deliveries WHERE store_id = $3 AND webhook_id = $4 AND retry = $5 AND due_at <= $7
  AND due_at >= (SELECT COALESCE(epoch_since, $6) FROM webhooks WHERE store_id = $3 AND id = $4 AND enabled)
 ORDER BY due_at, id LIMIT $8)`

	claimedSQLite = `SELECT d.id, d.lease, d.store_id, d.webhook_id, d.retry, d.event_id, d.event_type, d.attempts, d.created_at, d.epoch, d.created_at,
 COALESCE(w.enabled, false), w.url, w.secret, w.secret_key, e.payload, e.request_id, e.trace
 FROM deliveries d
 LEFT JOIN webhooks w ON w.store_id = d.store_id AND w.id = d.webhook_id AND ` + current + `
 LEFT JOIN events e ON e.id = d.event_id
 WHERE d.store_id = $1 AND d.webhook_id = $2 AND d.retry = $3 AND d.due_at = $4 AND d.lease = $5
 ORDER BY d.id`
)

// wantRow is a Want as the statement reads it.
type wantRow struct {
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	Retry     bool      `json:"retry"`
	Max       int       `json:"max"`
	After     time.Time `json:"after"`
}

// Claim leases what is due in the lanes, the longest due first, each up to its Max; nothing of a
// webhook that is disabled or gone, or that became due before the webhook was last enabled again:
// that is cancelled, and moved to the journal by StepCancellation.
func (q *Queue) Claim(ctx context.Context, wants []Want, lease time.Duration) (Claimed, error) {
	done := Claimed{Ends: map[Lane]time.Time{}}
	if len(wants) == 0 {
		return done, nil
	}
	if q.sqlite() {
		err := q.claimEach(ctx, wants, lease, &done)
		return done, wrap("claim", err)
	}
	rows := make([]wantRow, len(wants))
	for i, w := range wants {
		rows[i] = wantRow{w.StoreID, w.WebhookID, w.Retry, w.Max, w.After}
		if w.After.IsZero() {
			rows[i].After = time.Unix(0, 0) // the zero time is none of PostgreSQL's JSON
		}
	}
	set, err := rowset(rows)
	if err != nil {
		return done, wrap("claim", err)
	}
	// The writer's pool: on a replica of the reader there would be nothing to lease.
	found, err := q.store.Writer().QueryContext(ctx, claimPostgres, q.store.Moment(), set, milliseconds(lease))
	if err != nil {
		return done, wrap("claim", err)
	}
	if err := done.scan(found); err != nil {
		return done, wrap("claim", err)
	}
	return done, wrap("claim", lookAgain(ctx, q.store.Writer(), done.Deliveries))
}

// claimEach claims one lane after the other in one transaction.
func (q *Queue) claimEach(ctx context.Context, wants []Want, lease time.Duration, done *Claimed) error {
	tx, err := q.store.Writer().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	now := q.store.Now()
	token, until := uuid.New(), now.Add(lease)
	for _, w := range wants {
		result, err := tx.ExecContext(ctx, claimSQLite, token, until, w.StoreID, w.WebhookID, w.Retry, time.Unix(0, 0), now, w.Max)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			if err != nil {
				return err
			}
			continue
		}
		rows, err := tx.QueryContext(ctx, claimedSQLite, w.StoreID, w.WebhookID, w.Retry, until, token)
		if err != nil {
			return err
		}
		if err := done.scan(rows); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (c *Claimed) scan(rows *sql.Rows) error {
	return each(rows, func() error {
		var (
			d                  Delivery
			due                time.Time
			address, secretKey sql.NullString
			caused             cause
		)
		err := rows.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt, &d.Epoch, &due,
			&d.Enabled, &address, &d.Secret, &secretKey, &d.Payload, &caused.request, &caused.trace)
		if err != nil {
			return err
		}
		caused.tell(&d)
		d.URL, d.SecretKey = address.String, secretKey.String
		c.Deliveries = append(c.Deliveries, d)
		c.Ends[d.Lane] = due
		return nil
	})
}
