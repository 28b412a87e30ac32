package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/predicate"
)

// write writes the journal entries, the events and their deliveries (package fanout), right before the commit. queued is true
// if it wrote deliveries.
func (r *recorder) write(ctx context.Context, tx *ent.Tx) (queued bool, err error) {
	if len(r.changes) == 0 {
		return false, nil
	}
	ctx, span := r.span(ctx)
	defer func() { tracing.End(span, err) }()
	if err := r.writeJournal(ctx, tx); err != nil {
		return false, fmt.Errorf("write the journal: %w", err)
	}
	if queued, err = r.writeEvents(ctx, tx); err != nil {
		return false, fmt.Errorf("write the events: %w", err)
	}
	return queued, nil
}

// span starts the trace span in which the records are written. The returned context makes the spans of deliveries its
// children.
func (r *recorder) span(ctx context.Context) (context.Context, trace.Span) {
	var types []string
	for _, c := range r.changes {
		types = append(types, c.events...)
	}
	if len(types) == 0 {
		return tracing.Child(ctx, "journal")
	}
	ctx, s := tracing.Child(ctx, "events")
	s.SetAttributes(attribute.StringSlice("storefront.event.types", types))
	return ctx, s
}

func (r *recorder) writeJournal(ctx context.Context, tx *ent.Tx) error {
	store, actor, _ := tenant.From(ctx)
	var entries []*ent.ActivityEntryCreate
	for _, c := range r.changes {
		if c.action == "" {
			continue
		}
		at := r.time(c.id)
		entryID := id.At(at)
		if c.entry != uuid.Nil {
			added, err := addToEntry(ctx, tx, store.ID, c)
			if err != nil {
				return err
			}
			if added {
				continue
			}
			entryID = c.entry
		}
		entries = append(entries, tx.ActivityEntry.Create().SetID(entryID).SetStoreID(store.ID).
			SetActorType(actor.Type).SetActorID(actor.ID).SetActorName(actor.Name).
			SetAction(c.action).SetResourceType(c.resource).SetResourceID(c.id).SetChanges(appendChanges(nil, c.fields)).SetCreatedAt(at))
	}
	return tx.ActivityEntry.CreateBulk(entries...).Exec(ctx)
}

// addToEntry adds the counts of part, which RecordPart recorded, to the journal entry part.entry. It returns false if there is no
// such entry yet.
func addToEntry(ctx context.Context, tx *ent.Tx, store uuid.UUID, part recordedMutation) (bool, error) {
	conditions := []predicate.ActivityEntry{activityentry.StoreID(store), activityentry.ID(part.entry)}
	entry, err := tx.ActivityEntry.Query().Where(conditions...).Only(ctx)
	if ent.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var counts map[string]struct{ To int64 }
	if err := json.Unmarshal(entry.Changes, &counts); err != nil {
		return false, fmt.Errorf("read the entry of the whole: %w", err)
	}
	sums := slices.Clone(part.fields)
	for i, f := range sums {
		sums[i].To = counts[f.Field].To + f.To.(int64)
	}
	return true, tx.ActivityEntry.Update().Where(conditions...).SetChanges(appendChanges(nil, sums)).Exec(ctx)
}

// writeEvents writes the events and their deliveries. queued is true if it wrote a delivery.
func (r *recorder) writeEvents(ctx context.Context, tx *ent.Tx) (queued bool, err error) {
	store, _, _ := tenant.From(ctx)
	var events []*ent.EventCreate
	for _, c := range r.changes {
		if len(c.events) == 0 {
			continue
		}
		data, err := r.data(ctx, tx, store, c.id)
		if err != nil {
			return false, fmt.Errorf("render %s: %w", c.events[0], err)
		}
		for _, name := range c.events {
			at := r.time(c.id)
			eventID := id.At(at)
			events = append(events, tx.Event.Create().SetID(eventID).SetStoreID(store.ID).SetType(name).
				SetPayload(Envelope(eventID, name, at, store.ID, store.Slug, data)).SetCustomerID(CustomerOf(data)).SetCreatedAt(at))
		}
	}
	if len(events) == 0 {
		return false, nil
	}
	written, err := tx.Event.CreateBulk(events...).Save(ctx)
	if err != nil {
		return false, err
	}
	sent := make([]fanout.Event, len(written))
	for i, e := range written {
		sent[i] = fanout.Event{ID: e.ID, Type: e.Type}
	}
	added, err := fanout.Write(ctx, r.db, tx, r.time(), store.ID, sent)
	return added > 0, err
}

// data returns the data of an event about the object with this id: the answer that a GET of the object gives right after the
// commit.
func (r *recorder) data(ctx context.Context, tx *ent.Tx, store tenant.Store, id uuid.UUID) (proto.Message, error) {
	if r.eventData != nil {
		if objectID, data := r.eventData(); objectID == id {
			return data, nil
		}
	}
	switch row := r.rows[id].row.(type) {
	case *ent.Product:
		return resource.Product(row, store.Currency), nil
	case *ent.Customer:
		return resource.Customer(row, store.Currency), nil
	case *ent.Order:
		return resource.ReadOrder(ctx, tx, store, id)
	default:
		return nil, fmt.Errorf("no event for a %T", row)
	}
}
