package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

// Transactions may commit in another order than they took the ids of their outbox entries in, and PostgreSQL
// keeps deleted rows while a transaction is open that might see them. So most searches of the outbox start
// lateEntries below the highest id taken, and one every fullInterval starts from the beginning.
const (
	lateEntries  = 1000
	fullInterval = time.Second
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
	now := q.db.Now()
	after, full := q.outbox.taken-lateEntries, now.Sub(q.outbox.lastFullScan).Abs() >= fullInterval
	if full {
		after = 0
	}
	if q.dialect.singleWriter {
		// Looking costs nothing, and beginning to write makes others wait.
		var found bool
		if err := q.db.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM outbox)").Scan(&found); err != nil || !found {
			return Relayed{}, wrap("relay", err)
		}
	}
	var done Relayed
	highest := int64(0)
	err := q.inTx(ctx, func(tx *sql.Tx) error {
		done = Relayed{}
		var found []Delivery
		var err error
		if found, highest, err = q.take(ctx, tx, after, limit, &done); err != nil {
			return err
		}
		return insert(ctx, tx, q.db, distribute(found, now, room, &done), now, lease)
	})
	if err != nil {
		return Relayed{}, wrap("relay", err)
	}
	if q.outbox.taken = max(q.outbox.taken, highest); full && done.Entries < limit {
		q.outbox.lastFullScan = now
	}
	return done, nil
}

// take deletes entries of the outbox, and returns their deliveries and the highest id.
func (q *Queue) take(ctx context.Context, tx *sql.Tx, after int64, limit int, done *Relayed) (found []Delivery, highest int64,
	err error) {
	for row := range db.Rows(ctx, tx, q.dialect.statements["take"], after, limit) {
		var entry int64
		var d Delivery
		// Without a webhook, or a request, the id stays zero.
		if err := row.Scan(&entry, &d.EventID, &d.StoreID, &d.EventType, &d.WebhookID, &d.URL, &d.Secret, &d.SecretKey, &d.Epoch,
			&d.Payload, &d.RequestID, &d.Trace); err != nil {
			return nil, 0, err
		}
		if entry != highest {
			done.Entries++
			highest = entry
		}
		if d.WebhookID == uuid.Nil || d.Payload == nil {
			continue // nobody subscribes any more, or there is no such event
		}
		if n := len(found); n > 0 && found[n-1].EventID == d.EventID {
			d.Payload = found[n-1].Payload // a batch of long events holds each once, not once for each webhook
		}
		found = append(found, d)
	}
	if q.dialect.singleWriter && done.Entries > 0 {
		// Nothing was added below the highest: there is one writer, and it is this transaction.
		_, err = q.dialect.exec(ctx, tx, "drop", highest)
	}
	return found, highest, err
}

// distribute makes deliveries of what was found, and leases those that there is room for.
func distribute(found []Delivery, now time.Time, room func(Lane) bool, done *Relayed) []newRow {
	var inserts []newRow
	waiting := map[Lane]bool{}
	for _, d := range found {
		d.ID, d.CreatedAt, d.Attempts = id.At(now), now, []byte(noAttempts)
		row := newRow{NewDelivery: NewDelivery{d.ID, d.StoreID, d.WebhookID, d.EventID, d.EventType, d.Epoch}}
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

// NewDelivery is a delivery to add.
type NewDelivery struct {
	// ID is made by package id of the transaction's time.
	ID uuid.UUID `json:"id"`
	// StoreID is the store that the webhook and the event belong to.
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	EventID   uuid.UUID `json:"event_id"`
	EventType string    `json:"event_type"`
	// Epoch is that of the webhook.
	Epoch int64 `json:"epoch"`
}

// Add puts deliveries into the queue, due now and with no attempt made, in one statement. The
// caller has locked their webhooks and found them enabled, and wakes the workers after the commit
// (db.DB.Announce).
func Add(ctx context.Context, tx *ent.Tx, s *db.DB, deliveries []NewDelivery) error {
	rows := make([]newRow, len(deliveries))
	for i, d := range deliveries {
		rows[i].NewDelivery = d
	}
	return wrap("add deliveries", insert(ctx, tx, s, rows, hook.Time(ctx), 0))
}

// newRow is a delivery to insert.
type newRow struct {
	NewDelivery
	// Lease is nil for a delivery that waits.
	Lease *uuid.UUID `json:"lease"`
}

// insert adds the rows in one statement.
func insert(ctx context.Context, on execer, s *db.DB, rows []newRow, now time.Time, lease time.Duration) error {
	if len(rows) == 0 {
		return nil
	}
	set, err := rowset(rows)
	if err != nil {
		return err
	}
	_, err = dialectOf(s).exec(ctx, on, "insert", s.Moment(), lease.Milliseconds(), now, set)
	return err
}
