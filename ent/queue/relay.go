package queue

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
)

// On a Citus cluster a store's changes commit on the store's node, but the table deliveries is on the coordinator. So a change
// writes its deliveries into the outbox, which is beside the store's rows (package fanout), and a worker moves them:
//
//	a store's node: outbox ──Relay──► coordinator: deliveries ──DropRelayed──► outbox entries deleted
//
// The deliveries are committed first. If a worker is killed in between, the next Relay finds the entries again and adds no
// delivery that exists, because the entries have the deliveries' ids. On other databases there is nothing to relay.

const relayBatch = 200

// Relay copies at most relayBatch of the oldest outbox entries to deliveries, and returns how many. It takes none while another
// worker relays.
func (q *Queue) Relay(ctx context.Context) (int, error) {
	if !q.dialect.relays {
		return 0, nil
	}
	taken := false
	entries, err := q.relay(ctx, "take", &taken)
	if err != nil && !taken {
		entries, err = q.relay(ctx, "take reachable", &taken) // a node is unavailable: relay for the stores on the other nodes
	}
	if err == nil {
		q.relayed = append(q.relayed, entries...)
	}
	return len(entries), wrap("relay", err)
}

// relay sets taken once it has read the entries that the statement take returns.
func (q *Queue) relay(ctx context.Context, take string, taken *bool) (entries []fanout.Delivery, err error) {
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		var ours bool
		if err := tx.QueryRowContext(ctx, q.dialect.statements["turn"]).Scan(&ours); err != nil || !ours {
			return err
		}
		for row := range db.Rows(ctx, tx, q.dialect.statements[take], relayBatch) {
			var e fanout.Delivery
			if err := row.Scan(&e.ID, &e.StoreID, &e.WebhookID, &e.EventID, &e.EventType, &e.Epoch); err != nil {
				return err
			}
			entries = append(entries, e)
		}
		*taken = true
		if added, err := fanout.Add(ctx, q.db, tx, q.db.Now(), entries); err != nil || added == 0 {
			return err
		}
		ids := make([]uuid.UUID, len(entries))
		for i, e := range entries {
			ids[i] = e.ID
		}
		_, err := q.dialect.exec(ctx, tx, "drop ended again", q.dialect.array(ids))
		return err
	})
	return entries, err
}

// DropRelayed deletes the outbox entries that Relay has copied, once the worker has claimed their deliveries. Relay takes an
// entry again that could not be deleted, and adds no delivery.
func (q *Queue) DropRelayed(ctx context.Context) (errs error) {
	stores := map[uuid.UUID][]uuid.UUID{}
	for _, e := range q.relayed {
		stores[e.StoreID] = append(stores[e.StoreID], e.ID)
	}
	q.relayed = nil
	for store, ids := range stores {
		_, err := q.dialect.exec(ctx, q.db.Writer(), "drop", store, q.dialect.array(ids))
		errs = errors.Join(errs, err)
	}
	return wrap("delete what was relayed", errs)
}
