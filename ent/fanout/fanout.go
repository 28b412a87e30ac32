// Package fanout writes the deliveries of an event in the transaction that causes the event: one for each webhook that gets
// the event.
//
//	transaction of a change:  rows ─► event ─► the store's webhooks, read ─► deliveries, due now ─► COMMIT
//
// A webhook gets an event if, when the transaction reads the webhooks, it is enabled and subscribes to the event's type. The
// webhooks are read without a lock, so a change never waits for a change of a webhook or the other way round. On SQLite one
// transaction at a time writes, so one of the two comes first. On PostgreSQL the transaction reads what is committed. A change
// of a webhook that commits after this comes after the event, even if it commits before the event's transaction: a webhook
// that unsubscribes, or is registered, was too late for the event. If the webhook is disabled meanwhile, its epoch has
// changed, which a worker compares when it claims the delivery (package queue). So the delivery is cancelled, as all others
// that wait, even if the webhook is enabled again by then. On a Citus cluster the same holds for the coordinator, which has the
// webhooks.
package fanout

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/id"
)

// Tx is a transaction: an *ent.Tx or a *sql.Tx.
type Tx interface {
	db.Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Event is an event that the transaction stores.
type Event struct {
	ID   uuid.UUID
	Type string
}

// Delivery is a delivery that waits for its first attempt.
type Delivery struct {
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

// Write adds the deliveries of a store's events, which the transaction tx of d stores, and returns how many it added. They are
// due now; now becomes their time of creation. The caller wakes the workers after the commit (db.DB.Announce).
//
// The id of a delivery is derived from its event and webhook, so no event gets a second one.
func Write(ctx context.Context, d *db.DB, tx Tx, now time.Time, store uuid.UUID, events []Event) (int, error) {
	webhooks := db.Querier(tx)
	if coordinator := d.Coordinator(); coordinator != nil {
		webhooks = coordinator.Reader()
	}
	var deliveries []Delivery
	for row := range db.Rows(ctx, webhooks, "SELECT id, epoch, events FROM webhooks WHERE store_id = $1 AND enabled ORDER BY id", store) {
		var webhook uuid.UUID
		var epoch int64
		var text []byte
		var types []string
		if err := row.Scan(&webhook, &epoch, &text); err != nil {
			return 0, fmt.Errorf("read the webhooks: %w", err)
		}
		if err := json.Unmarshal(text, &types); err != nil {
			return 0, fmt.Errorf("read the subscriptions of webhook %s: %w", webhook, err)
		}
		for _, e := range events {
			if slices.Contains(types, e.Type) {
				deliveries = append(deliveries, Delivery{id.Derive(e.ID, webhook), store, webhook, e.ID, e.Type, epoch})
			}
		}
	}
	var err error
	if d.Distributed() {
		err = intoOutbox(ctx, tx, deliveries)
	} else {
		_, err = Add(ctx, d, tx, now, deliveries)
	}
	if err != nil {
		return 0, fmt.Errorf("add the deliveries: %w", err)
	}
	return len(deliveries), nil
}

// The statements add the deliveries in the JSON $3 that are neither in deliveries nor in finished_deliveries. $1 is the
// database's TimeArg, and $2 the deliveries' time of creation.
var (
	//go:embed postgres.sql
	insertPostgres string
	//go:embed sqlite.sql
	insertSQLite string
)

// Add adds the deliveries in one statement, except those that exist already, and returns how many it added. They are due now and
// have no attempt; now becomes their time of creation. Add sorts them by id, so that two statements that add the same ones never
// deadlock. The caller wakes the workers after the commit (db.DB.Announce).
func Add(ctx context.Context, d *db.DB, tx db.Querier, now time.Time, deliveries []Delivery) (added int, err error) {
	if len(deliveries) == 0 {
		return 0, nil
	}
	slices.SortFunc(deliveries, func(a, b Delivery) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	set, err := json.Marshal(deliveries)
	if err != nil {
		return 0, fmt.Errorf("encode deliveries: %w", err)
	}
	for row := range db.Rows(ctx, tx, db.ByDialect(d, insertPostgres, insertSQLite), d.TimeArg(), now, string(set)) {
		if err := row.Scan(new(uuid.UUID)); err != nil {
			return 0, err
		}
		added++
	}
	return added, nil
}

// intoOutbox adds the deliveries to the outbox, which on a Citus cluster is on the node of the store's events, so that both
// commit together. The table deliveries is on the coordinator. A worker moves the deliveries there (queue.Queue.Relay).
func intoOutbox(ctx context.Context, tx Tx, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	var args db.Args
	rows := make([]string, len(deliveries))
	for i, d := range deliveries {
		rows[i] = "(" + strings.Join([]string{args.Add(d.ID), args.Add(d.StoreID), args.Add(d.WebhookID), args.Add(d.EventID),
			args.Add(d.EventType), args.Add(d.Epoch)}, ", ") + ")"
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO outbox (id, store_id, webhook_id, event_id, event_type, epoch) VALUES "+
		strings.Join(rows, ", "), args...)
	return err
}
