package hook

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/read"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
)

// Flush writes the journal entries and the outbox rows of the transaction that Begin began, one
// statement each and none when there are none. It is called once, right before the commit.
func Flush(ctx context.Context, tx *ent.Tx) error {
	r, ok := ctx.Value(contextKey{}).(*recorder)
	if !ok {
		return errForeignTransaction
	}
	if len(r.entries) == 0 && len(r.events) == 0 {
		return nil
	}
	store, actor, _ := tenant.From(ctx)
	if err := r.writeJournal(ctx, tx, store, actor); err != nil {
		return fmt.Errorf("write the activity journal: %w", err)
	}
	if err := r.writeOutbox(ctx, tx, store); err != nil {
		return fmt.Errorf("write the outbox: %w", err)
	}
	return nil
}

func (r *recorder) writeJournal(ctx context.Context, tx *ent.Tx, store tenant.Store, actor tenant.Actor) error {
	if len(r.entries) == 0 {
		return nil
	}
	rows := make([]*ent.ActivityEntryCreate, len(r.entries))
	for i, e := range r.entries {
		rows[i] = tx.ActivityEntry.Create().
			SetStoreID(store.ID).
			SetActorType(actor.Type).SetActorID(actor.ID).SetActorName(actor.Name).
			SetAction(e.action).SetResourceType(e.resourceType).SetResourceID(e.resourceID).
			SetChanges(e.changes).SetCreatedAt(r.now)
	}
	return tx.ActivityEntry.CreateBulk(rows...).Exec(ctx)
}

// outboxBatch bounds the rows of one insert, below the 999 to 65,535 parameters that a statement
// may have.
const outboxBatch = 100

func (r *recorder) writeOutbox(ctx context.Context, tx *ent.Tx, store tenant.Store) error {
	rows := make([]*ent.EventCreate, 0, min(len(r.events), outboxBatch))
	orders := map[uuid.UUID]proto.Message{}
	for i, e := range r.events {
		data, err := r.data(ctx, tx, store, e, orders)
		if err != nil {
			return fmt.Errorf("render %s: %w", e.kind, err)
		}
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		rows = append(rows, tx.Event.Create().
			SetID(id).SetStoreID(store.ID).SetType(e.kind).SetCreatedAt(r.now).
			SetPayload(wire.Envelope(id, e.kind, r.now, store.ID, store.Slug, data)))
		if len(rows) == outboxBatch || i == len(r.events)-1 {
			if err := tx.Event.CreateBulk(rows...).Exec(ctx); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return nil
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
