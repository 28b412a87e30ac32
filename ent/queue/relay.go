package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
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

// Relay turns at most limit of the oldest entries of the outbox into one delivery each for every
// enabled webhook of the store that subscribes to the type. Those in whose lane the worker has
// room, as room reports for each in turn, come back under a lease; the others wait. An entry that
// another worker is relaying is left to it.
func (q *Queue) Relay(ctx context.Context, limit int, lease time.Duration, room func(Lane) bool) (Relayed, error) {
	after, found, err := q.dialect.search(ctx, q)
	if err != nil || !found {
		return Relayed{}, wrap("relay", err)
	}
	var (
		done    Relayed
		highest int64
	)
	err = q.inTx(ctx, func(tx *sql.Tx) (err error) {
		highest, err = q.take(ctx, tx, after, limit, lease, room, &done)
		return err
	})
	if err != nil {
		return Relayed{}, wrap("relay", err)
	}
	q.outbox.found(highest, q.db.Now(), done.Entries == limit)
	return done, nil
}

// take does the transaction's work and returns the highest id that it took.
func (q *Queue) take(ctx context.Context, tx *sql.Tx, after int64, limit int, lease time.Duration,
	room func(Lane) bool, done *Relayed,
) (int64, error) {
	var (
		highest int64
		found   []Delivery
		// since is when the epochs of webhooks began.
		since = map[uuid.UUID]*time.Time{}
	)
	for row := range db.Rows(ctx, tx, q.dialect.take, after, limit) {
		var (
			entry              int64
			d                  Delivery
			webhook            uuid.NullUUID
			epoch              sql.NullInt64
			began              sql.NullTime
			address, secretKey sql.NullString
			caused             cause
		)
		if err := row.Scan(&entry, &d.EventID, &d.StoreID, &d.EventType, &webhook, &address, &d.Secret, &secretKey, &epoch, &began, &d.Payload,
			&caused.request, &caused.trace); err != nil {
			return 0, err
		}
		caused.set(&d)
		if entry != highest {
			done.Entries++
			highest = entry
		}
		if webhook.Valid {
			d.WebhookID, d.URL, d.SecretKey = webhook.UUID, address.String, secretKey.String
			if d.Epoch = epoch.Int64; began.Valid {
				since[d.WebhookID] = &began.Time
			}
			if n := len(found); n > 0 && found[n-1].EventID == d.EventID {
				d.Payload = found[n-1].Payload // a batch of long events holds each once, not once for each webhook
			}
			found = append(found, d)
		}
	}
	if err := lookAgain(ctx, tx, found); err != nil {
		return 0, err
	}
	now := q.db.Now()
	inserts := distribute(found, since, now, room, done)
	if q.dialect.drop != "" && done.Entries > 0 {
		if _, err := tx.ExecContext(ctx, q.dialect.drop, highest); err != nil {
			return 0, err
		}
	}
	return highest, insert(ctx, tx, q.db, inserts, now, lease)
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
		row := newRow{Draft: Draft{d.ID, d.StoreID, d.WebhookID, d.EventID, d.EventType}, Epoch: &d.Epoch, Since: since[d.WebhookID]}
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
