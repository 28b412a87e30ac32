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
 SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(store_id uuid, webhook_id uuid, retry boolean, max integer, after timestamptz)),
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
SELECT l.id, l.lease, l.store_id, l.webhook_id, l.retry, l.event_id, l.event_type, l.attempts, l.created_at, l.was_due_at,
 COALESCE(w.enabled, false), w.url, w.secret, w.secret_key, e.payload, e.request_id, e.trace
 FROM leased l
 LEFT JOIN LATERAL (SELECT * FROM webhooks w WHERE w.store_id = l.store_id AND w.id = l.webhook_id AND w.enabled LIMIT 1) w ON true
 LEFT JOIN LATERAL (SELECT payload, request_id, trace FROM events WHERE id >= l.event_id AND id <= l.event_id ORDER BY id LIMIT 1) e ON true
 ORDER BY l.was_due_at, l.id`

	// The lease is the same for all rows of a claim; a token need only differ from those before.
	claimSQLite = `UPDATE deliveries SET lease = $1, due_at = $2 WHERE id IN (
 SELECT id FROM deliveries WHERE store_id = $3 AND webhook_id = $4 AND retry = $5 AND due_at >= $6 AND due_at <= $7
 ORDER BY due_at, id LIMIT $8)`

	claimedSQLite = `SELECT l.id, l.lease, l.store_id, l.webhook_id, l.retry, l.event_id, l.event_type, l.attempts, l.created_at, l.created_at,
 COALESCE(w.enabled, false), w.url, w.secret, w.secret_key, e.payload, e.request_id, e.trace
 FROM deliveries l
 LEFT JOIN webhooks w ON w.store_id = l.store_id AND w.id = l.webhook_id AND w.enabled
 LEFT JOIN events e ON e.id = l.event_id
 WHERE l.store_id = $1 AND l.webhook_id = $2 AND l.retry = $3 AND l.due_at = $4 AND l.lease = $5
 ORDER BY l.id`
)

// wantRow is a Want as the statement reads it.
type wantRow struct {
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	Retry     bool      `json:"retry"`
	Max       int       `json:"max"`
	After     time.Time `json:"after"`
}

// Claim leases what is due in the lanes, the longest due first, each up to its Max.
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
		err := rows.Scan(&d.ID, &d.Lease, &d.StoreID, &d.WebhookID, &d.Retry, &d.EventID, &d.EventType, &d.Attempts, &d.CreatedAt, &due,
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
