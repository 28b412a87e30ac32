package queue

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/id"
)

// Relayed is what one Relay did.
type Relayed struct {
	// Entries is how many entries of the outbox it took.
	Entries int
	// Leased are the deliveries that the worker is to attempt now.
	Leased []Delivery
	// Waiting are the lanes in which it left deliveries for whoever has room.
	Waiting []Lane
}

// PostgreSQL's times are those of the database, unless the store has a clock of its own; what a
// statement takes for the present is its first parameter.
const present = `COALESCE($1::timestamptz, now())`

const (
	takePostgres = `WITH taken AS (
 DELETE FROM outbox WHERE id = ANY (ARRAY(SELECT id FROM outbox WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
 RETURNING id, event_id, store_id, type)
SELECT t.id, t.event_id, t.store_id, t.type, w.id, w.url, w.secret, w.secret_key, w.epoch, w.epoch_since, e.payload, e.request_id, e.trace
 FROM taken t
 LEFT JOIN LATERAL (SELECT * FROM webhooks w WHERE w.store_id = t.store_id AND w.enabled AND w.events ? t.type OFFSET 0) w ON true
 LEFT JOIN LATERAL (SELECT payload, request_id, trace FROM events WHERE id >= t.event_id AND id <= t.event_id ORDER BY id LIMIT 1) e ON true
 ORDER BY t.id, w.id`

	takeSQLite = `SELECT t.id, t.event_id, t.store_id, t.type, w.id, w.url, w.secret, w.secret_key, w.epoch, w.epoch_since, e.payload, e.request_id, e.trace
 FROM (SELECT * FROM outbox WHERE id > $1 ORDER BY id LIMIT $2) t
 LEFT JOIN webhooks w ON w.store_id = t.store_id AND w.enabled
  AND EXISTS (SELECT 1 FROM json_each(w.events) s WHERE s.value = t.type)
 LEFT JOIN events e ON e.id = t.event_id
 ORDER BY t.id, w.id`

	insertPostgres = `INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, lease, attempts, created_at, epoch)
SELECT r.id, r.store_id, r.webhook_id, r.event_id, r.event_type, false,
 GREATEST(` + present + `, r.since) + CASE WHEN r.lease IS NULL THEN 0 ELSE $2::bigint END * interval '1 millisecond', r.lease, '[]', $3, r.epoch
 FROM jsonb_to_recordset($4::jsonb) AS r(id uuid, store_id uuid, webhook_id uuid, event_id uuid, event_type text, lease uuid, epoch bigint, since timestamptz)`

	insertSQLite = `INSERT INTO deliveries
 (id, store_id, webhook_id, event_id, event_type, retry, due_at, lease, attempts, created_at, epoch)
SELECT r.value->>'id', r.value->>'store_id', r.value->>'webhook_id', r.value->>'event_id', r.value->>'event_type', false,
 max($1, COALESCE((SELECT w.epoch_since FROM webhooks w WHERE w.id = r.value->>'webhook_id'), 0)) + iif(r.value->>'lease' IS NULL, 0, $2),
 r.value->>'lease', CAST('[]' AS BLOB), $3, r.value->>'epoch'
 FROM json_each($4) r`
)

// newRow is a delivery to insert.
type newRow struct {
	ID        uuid.UUID  `json:"id"`
	StoreID   uuid.UUID  `json:"store_id"`
	WebhookID uuid.UUID  `json:"webhook_id"`
	EventID   uuid.UUID  `json:"event_id"`
	EventType string     `json:"event_type"`
	Lease     *uuid.UUID `json:"lease"`
	Epoch     int64      `json:"epoch"`
	// Since is when the epoch began; nothing of it is due before.
	Since *time.Time `json:"since"`
}

// Relay turns at most limit of the oldest entries of the outbox into one delivery each for every
// enabled webhook of the store that subscribes to the type. Those in whose lane the worker has
// room, as room says for each in turn, come back under a lease; the others wait. An entry that
// another worker is relaying is left to it.
func (q *Queue) Relay(ctx context.Context, limit int, lease time.Duration, room func(Lane) bool) (Relayed, error) {
	var done Relayed
	after := int64(0)
	if q.sqlite() {
		// Looking costs nothing there; beginning to write makes others wait.
		var any bool
		if err := q.store.Reader().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM outbox)`).Scan(&any); err != nil || !any {
			return done, wrap("relay", err)
		}
	} else {
		after = q.outbox.start(q.store.Now())
	}
	tx, err := q.store.Writer().BeginTx(ctx, nil)
	if err != nil {
		return done, wrap("relay", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	highest, err := q.take(ctx, tx, after, limit, lease, room, &done)
	if err != nil {
		return Relayed{}, wrap("relay", err)
	}
	if done.Entries > 0 {
		if err := tx.Commit(); err != nil {
			return Relayed{}, wrap("relay", err)
		}
	}
	q.outbox.found(highest, q.store.Now(), done.Entries == limit)
	return done, nil
}

// take does the transaction's work and returns the highest id that it took.
func (q *Queue) take(ctx context.Context, tx *sql.Tx, after int64, limit int, lease time.Duration,
	room func(Lane) bool, done *Relayed,
) (int64, error) {
	statement := takePostgres
	if q.sqlite() {
		statement = takeSQLite
	}
	rows, err := tx.QueryContext(ctx, statement, after, limit)
	if err != nil {
		return 0, err
	}
	var (
		highest int64
		found   []Delivery
		// since is when the epochs of webhooks began.
		since = map[uuid.UUID]*time.Time{}
	)
	err = each(rows, func() error {
		var (
			entry              int64
			d                  Delivery
			webhook            uuid.NullUUID
			epoch              sql.NullInt64
			began              sql.NullTime
			address, secretKey sql.NullString
			caused             cause
		)
		if err := rows.Scan(&entry, &d.EventID, &d.StoreID, &d.EventType, &webhook, &address, &d.Secret, &secretKey, &epoch, &began, &d.Payload,
			&caused.request, &caused.trace); err != nil {
			return err
		}
		caused.tell(&d)
		if entry != highest {
			done.Entries++
			highest = entry
		}
		if webhook.Valid {
			d.WebhookID, d.URL, d.SecretKey = webhook.UUID, address.String, secretKey.String
			if d.Epoch = epoch.Int64; began.Valid {
				since[d.WebhookID] = &began.Time
			}
			found = append(found, d)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := lookAgain(ctx, tx, found); err != nil {
		return 0, err
	}
	now := q.store.Now()
	inserts := distribute(found, since, now, room, done)
	if q.sqlite() && done.Entries > 0 {
		// Nothing was added below the highest: there is one writer, and it is this transaction.
		if _, err := tx.ExecContext(ctx, `DELETE FROM outbox WHERE id <= $1`, highest); err != nil {
			return 0, err
		}
	}
	return highest, q.insert(ctx, tx, inserts, now, lease)
}

// distribute makes deliveries of what was found, and leases those that there is room for.
func distribute(found []Delivery, since map[uuid.UUID]*time.Time, now time.Time, room func(Lane) bool, done *Relayed) []newRow {
	var inserts []newRow
	waiting := map[Lane]bool{}
	for _, d := range found {
		if d.Payload == nil {
			continue // there is no such event
		}
		d.ID, d.Enabled, d.CreatedAt, d.Attempts = id.At(now), true, now, []byte(noAttempts)
		row := newRow{ID: d.ID, StoreID: d.StoreID, WebhookID: d.WebhookID, EventID: d.EventID, EventType: d.EventType, Epoch: d.Epoch, Since: since[d.WebhookID]}
		if room(d.Lane) {
			d.Lease = uuid.New()
			row.Lease = &d.Lease
			done.Leased = append(done.Leased, d)
		} else if !waiting[d.Lane] {
			waiting[d.Lane] = true
			done.Waiting = append(done.Waiting, d.Lane)
		}
		inserts = append(inserts, row)
	}
	return inserts
}

// insert adds the rows.
func (q *Queue) insert(ctx context.Context, tx *sql.Tx, inserts []newRow, now time.Time, lease time.Duration) error {
	if len(inserts) == 0 {
		return nil
	}
	set, err := rowset(inserts)
	if err != nil {
		return err
	}
	statement := insertPostgres
	if q.sqlite() {
		statement = insertSQLite
	}
	_, err = tx.ExecContext(ctx, statement, q.store.Moment(), milliseconds(lease), now, set)
	return err
}

// wrap names the operation that an error ended; nil stays nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
