package queue

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

// A transaction may commit after another transaction whose events are newer. So most searches of the outbox start relayOverlap
// before the newest event that Relay has taken, and one search every fullScanInterval starts at the oldest entry. A search from
// the oldest entry is slow while any transaction has been open for long, because PostgreSQL keeps deleted entries for that
// transaction, and the search reads them.
const (
	relayOverlap     = 200 * time.Millisecond
	fullScanInterval = time.Second
)

// Relayed is the result of Relay.
type Relayed struct {
	// Entries is how many outbox entries Relay took.
	Entries int
	// Leased are the deliveries that the worker must attempt now.
	Leased []Delivery
	// Waiting are the lanes in which Relay left deliveries. Any worker that may make more attempts can claim them.
	Waiting []Lane
	// Unused has the lane of each delivery for which room(lane) returned true, but which existed already. The worker does not
	// attempt such a delivery.
	Unused []Lane
}

// Relay takes at most limit of the oldest outbox entries. For each entry it adds one delivery for every enabled webhook of
// the store that subscribes to the event's type. It leases the delivery if room returns true for the delivery's lane,
// because the worker has room there; otherwise the delivery waits. It skips entries that another worker is relaying.
//
// A delivery's id is derived from its event and webhook, so Relay and a resend never both create the delivery.
func (q *Queue) Relay(ctx context.Context, limit int, lease time.Duration, room func(Lane) bool) (Relayed, error) {
	now := q.db.Now()
	after, full := id.Floor(q.outbox.taken.Add(-relayOverlap)), now.Sub(q.outbox.lastFullScan).Abs() >= fullScanInterval
	if full {
		after = uuid.Nil
	}
	if q.dialect.singleWriter {
		// Read before writing, because a write transaction makes other writers wait, even if the outbox is empty.
		var found bool
		if err := q.db.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM outbox)").Scan(&found); err != nil || !found {
			return Relayed{}, wrap("relay", err)
		}
	}
	var (
		done    Relayed
		entries []entry
	)
	taken := false
	relay := func(take string) error {
		return q.inTx(ctx, func(tx *sql.Tx) error {
			done = Relayed{}
			found, all, err := q.take(ctx, tx, take, after, limit)
			if err != nil {
				return err
			}
			entries = all
			if q.dialect.dropsLater {
				if err := q.readPayloads(ctx, tx, found); err != nil {
					return err
				}
			}
			taken = true
			found = slices.DeleteFunc(found, func(d Delivery) bool { return d.Payload == nil }) // Payload is nil if the event was deleted
			added, err := insert(ctx, tx, q.db, distribute(found, now, room, &done), now, lease)
			done.keepAdded(added)
			return err
		})
	}
	err := relay("take")
	if reachable := "take reachable"; err != nil && !taken && q.dialect.statements[reachable] != "" {
		err = relay(reachable) // a machine is unavailable: relay for the stores on the other machines
	}
	if err != nil {
		return Relayed{}, wrap("relay", err)
	}
	if q.dialect.dropsLater {
		q.outbox.relayed = append(q.outbox.relayed, entries...)
	}
	if done.Entries = len(entries); done.Entries > 0 {
		// An event's time may be ahead of the clock. Ignore such a time, because events with earlier times will follow.
		if newest := id.Time(entries[len(entries)-1].ID); newest.After(q.outbox.taken) && !newest.After(now) {
			q.outbox.taken = newest
		}
	}
	if full && done.Entries < limit {
		q.outbox.lastFullScan = now
	}
	return done, nil
}

// entry is an outbox entry: an event and its store.
type entry struct{ ID, StoreID uuid.UUID }

// take runs the statement with this name, which takes at most limit outbox entries: the oldest whose ids are higher than
// after. It returns the entries and, as found, their events with each webhook that subscribes to them. found has no payloads
// if the events are on other machines.
func (q *Queue) take(ctx context.Context, tx *sql.Tx, statement string, after uuid.UUID, limit int) (found []Delivery,
	entries []entry, err error) {
	if turn := q.dialect.statements["turn"]; turn != "" {
		var ours bool
		if err := tx.QueryRowContext(ctx, turn).Scan(&ours); err != nil || !ours {
			return nil, nil, err
		}
	}
	for row := range db.Rows(ctx, tx, q.dialect.statements[statement], after, limit) {
		var d Delivery
		// The webhook's columns are null if no webhook subscribes to the event, and the request's id is null if no request caused
		// the event. A null id is scanned as the zero UUID.
		if err := row.Scan(&d.EventID, &d.StoreID, &d.EventType, &d.WebhookID, &d.URL, &d.Secret, &d.SecretKey,
			&d.Epoch, &d.Payload, &d.RequestID, &d.Trace); err != nil {
			return nil, nil, err
		}
		if n := len(found); n > 0 && found[n-1].EventID == d.EventID {
			d.Payload = found[n-1].Payload // shared, so that a batch has each long payload only once
		}
		if n := len(entries); n == 0 || entries[n-1].ID != d.EventID {
			entries = append(entries, entry{d.EventID, d.StoreID})
		}
		if d.WebhookID != uuid.Nil { // a webhook subscribes to the event
			found = append(found, d)
		}
	}
	if q.dialect.singleWriter {
		err = q.drop(ctx, tx, entries)
	}
	return found, entries, err
}

// DropRelayed deletes the outbox entries that Relay has relayed, on a database where Relay's own transaction cannot delete
// them. Call it after Relay, once the worker has started to attempt the leased deliveries. If an entry could not be deleted,
// Relay takes it again and adds no delivery.
func (q *Queue) DropRelayed(ctx context.Context) error {
	entries := q.outbox.relayed
	q.outbox.relayed = nil
	return wrap("delete what was relayed", q.drop(ctx, q.db.Writer(), entries))
}

// drop deletes entries of the outbox, store by store; a failure in one store does not stop the deletion in others.
func (q *Queue) drop(ctx context.Context, conn execer, entries []entry) (errs error) {
	stores := map[uuid.UUID][]uuid.UUID{}
	for _, e := range entries {
		stores[e.StoreID] = append(stores[e.StoreID], e.ID)
	}
	for store, ids := range stores {
		_, err := q.dialect.exec(ctx, conn, "drop", store, q.dialect.array(ids))
		errs = errors.Join(errs, err)
	}
	return errs
}

// readPayloads sets the payloads of the deliveries. It reads an event's payload once, even if several deliveries have the
// event.
func (q *Queue) readPayloads(ctx context.Context, conn db.Querier, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	var stores, events []uuid.UUID
	seen := map[uuid.UUID]*Delivery{}
	for _, d := range deliveries {
		if seen[d.EventID] == nil {
			stores, events = append(stores, d.StoreID), append(events, d.EventID)
			seen[d.EventID] = &Delivery{}
		}
	}
	for row := range db.Rows(ctx, conn, q.dialect.statements["payloads"], q.dialect.array(stores), q.dialect.array(events)) {
		var event uuid.UUID
		var d Delivery
		if err := row.Scan(&event, &d.Payload, &d.RequestID, &d.Trace); err != nil {
			return err
		}
		seen[event] = &d
	}
	for i := range deliveries {
		e := seen[deliveries[i].EventID]
		deliveries[i].Payload, deliveries[i].RequestID, deliveries[i].Trace = e.Payload, e.RequestID, e.Trace
	}
	return nil
}

// distribute returns the row to insert for each delivery in found. It leases a delivery if room returns true for its lane, and
// adds the delivery to done.Leased. It adds the lanes in which it leaves deliveries without a lease to done.Waiting.
func distribute(found []Delivery, now time.Time, room func(Lane) bool, done *Relayed) []newRow {
	var inserts []newRow
	waiting := map[Lane]bool{}
	for _, d := range found {
		d.ID, d.CreatedAt, d.Attempts = id.Derive(d.EventID, d.WebhookID), now, []byte(noAttempts)
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

// keepAdded removes the deliveries from Leased whose ids are not in added, because they existed already, and adds their lanes to
// Unused.
func (r *Relayed) keepAdded(added []uuid.UUID) {
	isNew := map[uuid.UUID]bool{}
	for _, delivery := range added {
		isNew[delivery] = true
	}
	r.Leased = slices.DeleteFunc(r.Leased, func(d Delivery) bool {
		if !isNew[d.ID] {
			r.Unused = append(r.Unused, d.Lane)
		}
		return !isNew[d.ID]
	})
}

// NewDelivery is a delivery that Add, Relay or a resend puts into the queue.
type NewDelivery struct {
	// ID is made by package id, from the transaction's time or from the event and the webhook.
	ID uuid.UUID `json:"id"`
	// StoreID is the store of the webhook and the event.
	StoreID   uuid.UUID `json:"store_id"`
	WebhookID uuid.UUID `json:"webhook_id"`
	EventID   uuid.UUID `json:"event_id"`
	EventType string    `json:"event_type"`
	// Epoch is the webhook's epoch.
	Epoch int64 `json:"epoch"`
}

// Add puts deliveries into the queue in one statement. They are due now and have no attempt. The caller has locked their
// webhooks and found them enabled, and wakes the workers after the commit (db.DB.Announce).
func Add(ctx context.Context, tx *ent.Tx, d *db.DB, deliveries []NewDelivery) error {
	_, err := insert(ctx, tx, d, unleasedRows(deliveries), hook.Time(ctx), 0)
	return wrap("add deliveries", err)
}

// newRow is a delivery to insert.
type newRow struct {
	NewDelivery
	// Lease is nil for a waiting delivery.
	Lease *uuid.UUID `json:"lease"`
}

func unleasedRows(deliveries []NewDelivery) []newRow {
	rows := make([]newRow, len(deliveries))
	for i, d := range deliveries {
		rows[i].NewDelivery = d
	}
	return rows
}

// insert adds the rows in one statement, except those that exist already, and returns the ids of the added rows. It sorts the
// rows by id, so that two statements that add the same rows never deadlock.
func insert(ctx context.Context, q db.Querier, d *db.DB, rows []newRow, now time.Time, lease time.Duration) ([]uuid.UUID, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	slices.SortFunc(rows, func(a, b newRow) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	set, err := rowset(rows)
	if err != nil {
		return nil, err
	}
	return scanIDs(db.Rows(ctx, q, dialectOf(d).statements["insert"], d.TimeArg(), lease.Milliseconds(), now, set))
}

// HoldRelay waits for a running relay to end, and then blocks relays until the transaction ends. Only a database distributed
// over several machines needs it; elsewhere a relay locks its outbox entries, and HoldRelay does nothing.
func HoldRelay(ctx context.Context, tx *ent.Tx, d *db.DB) error {
	statement := dialectOf(d).statements["wait for turn"]
	if statement == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, statement)
	return wrap("wait for the relay", err)
}
