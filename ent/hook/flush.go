package hook

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/read"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
)

// Flush writes the journal entries and the outbox rows of the transaction that Begin began, a
// statement a row; on PostgreSQL an entry and an event are one statement together. It is called
// once, right before the commit.
func Flush(ctx context.Context, tx *ent.Tx, database string) error {
	r, ok := ctx.Value(contextKey{}).(*recorder)
	if !ok {
		return errForeignTransaction
	}
	if len(r.entries) == 0 && len(r.events) == 0 {
		return nil
	}
	store, actor, _ := tenant.From(ctx)
	entries, err := r.journal(store, actor)
	if err != nil {
		return fmt.Errorf("write the activity journal: %w", err)
	}
	events, err := r.outbox(ctx, tx, store)
	if err != nil {
		return fmt.Errorf("write the outbox: %w", err)
	}
	if database == dialect.Postgres {
		for ; len(entries) > 0 && len(events) > 0; entries, events = entries[1:], events[1:] {
			if _, err := tx.ExecContext(ctx, insertBoth, append(entries[0], events[0]...)...); err != nil {
				return fmt.Errorf("write the activity journal and the outbox: %w", err)
			}
		}
	}
	for _, row := range entries {
		if _, err := tx.ExecContext(ctx, insertEntry, row...); err != nil {
			return fmt.Errorf("write the activity journal: %w", err)
		}
	}
	for _, row := range events {
		if _, err := tx.ExecContext(ctx, insertEvent, row...); err != nil {
			return fmt.Errorf("write the outbox: %w", err)
		}
	}
	return nil
}

// Every change pays for these, and nearly every one for a single row of each, so they leave the
// query builder: as texts that a connection prepares once they halve what the service spends on
// them.
const (
	insertEntry = `INSERT INTO activity_entries
 (id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertEvent = `INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)`
	insertBoth  = `WITH entry AS (` + insertEntry + `)
 INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($11, $12, $13, $14, $15)`
)

// journal is the arguments of insertEntry for each entry.
func (r *recorder) journal(store tenant.Store, actor tenant.Actor) ([][]any, error) {
	rows := make([][]any, len(r.entries))
	for i, e := range r.entries {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		rows[i] = []any{
			id, store.ID, actor.Type, actor.ID, actor.Name, e.action, e.resourceType, e.resourceID, e.changes, r.now,
		}
	}
	return rows, nil
}

// outbox is the arguments of insertEvent for each event.
func (r *recorder) outbox(ctx context.Context, tx *ent.Tx, store tenant.Store) ([][]any, error) {
	rows := make([][]any, len(r.events))
	orders := map[uuid.UUID]proto.Message{}
	for i, e := range r.events {
		data, err := r.data(ctx, tx, store, e, orders)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", e.kind, err)
		}
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		rows[i] = []any{id, store.ID, e.kind, wire.Envelope(id, e.kind, r.now, store.ID, store.Slug, data), r.now}
	}
	return rows, nil
}

// data is the object that an event concerns, as GET answers right after the commit.
func (r *recorder) data(ctx context.Context, tx *ent.Tx, store tenant.Store, e event, orders map[uuid.UUID]proto.Message) (proto.Message, error) {
	switch row := r.rows[e.resourceID].(type) {
	case *ent.Product:
		return wire.Product(row, store.Currency), nil
	case *ent.Customer:
		return wire.Customer(row, store.Currency), nil
	case *ent.Order:
		// Two events may tell of one order; it is read once.
		if o, ok := orders[e.resourceID]; ok {
			return o, nil
		}
		message, err := read.Order(ctx, tx, store, e.resourceID)
		if err != nil {
			return nil, err
		}
		orders[e.resourceID] = message
		return message, nil
	default:
		return nil, fmt.Errorf("no event tells of a %T", row)
	}
}
