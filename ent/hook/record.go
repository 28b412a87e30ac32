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
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/predicate"
)

// write writes the records right before the commit. queued is true if there are deliveries among them.
func (c *Change) write() (queued bool, err error) {
	if len(c.changes) == 0 {
		return false, nil
	}
	ctx, span := c.span()
	defer func() { tracing.End(span, err) }()
	if err := c.writeJournal(ctx); err != nil {
		return false, fmt.Errorf("write the journal: %w", err)
	}
	if queued, err = c.writeEvents(ctx); err != nil {
		return false, fmt.Errorf("write the events: %w", err)
	}
	return queued, nil
}

// span starts the trace span of the records, which the spans of deliveries get as their parent.
func (c *Change) span() (context.Context, trace.Span) {
	var types []string
	for _, m := range c.changes {
		types = append(types, m.events...)
	}
	if len(types) == 0 {
		return tracing.Child(c, "journal")
	}
	ctx, s := tracing.Child(c, "events")
	s.SetAttributes(attribute.StringSlice("storefront.event.types", types))
	return ctx, s
}

func (c *Change) writeJournal(ctx context.Context) error {
	var entries []*ent.ActivityEntryCreate
	for _, m := range c.changes {
		if m.action == "" {
			continue
		}
		at := c.Time(m.id)
		entryID := id.At(at)
		if m.entry != uuid.Nil {
			added, err := c.addToEntry(ctx, m)
			if err != nil {
				return err
			}
			if added {
				continue
			}
			entryID = m.entry
		}
		entries = append(entries, c.Tx.ActivityEntry.Create().SetID(entryID).SetStoreID(c.Store.ID).
			SetActorType(c.Actor.Type).SetActorID(c.Actor.ID).SetActorName(c.Actor.Name).
			SetAction(m.action).SetResourceType(m.resource).SetResourceID(m.id).SetChanges(appendChanges(nil, m.fields)).SetCreatedAt(at))
	}
	return c.Tx.ActivityEntry.CreateBulk(entries...).Exec(ctx)
}

// addToEntry adds the counts of part, which RecordPart noted, to its journal entry; false if there is none yet.
func (c *Change) addToEntry(ctx context.Context, part recordedMutation) (bool, error) {
	conditions := []predicate.ActivityEntry{activityentry.StoreID(c.Store.ID), activityentry.ID(part.entry)}
	entry, err := c.Tx.ActivityEntry.Query().Where(conditions...).Only(ctx)
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
	return true, c.Tx.ActivityEntry.Update().Where(conditions...).SetChanges(appendChanges(nil, sums)).Exec(ctx)
}

// writeEvents writes the events and their deliveries.
func (c *Change) writeEvents(ctx context.Context) (queued bool, err error) {
	var events []*ent.EventCreate
	for _, m := range c.changes {
		if len(m.events) == 0 {
			continue
		}
		data, err := c.data(ctx, m.id)
		if err != nil {
			return false, fmt.Errorf("render %s: %w", m.events[0], err)
		}
		for _, name := range m.events {
			at := c.Time(m.id)
			eventID := id.At(at)
			events = append(events, c.Tx.Event.Create().SetID(eventID).SetStoreID(c.Store.ID).SetType(name).
				SetPayload(Envelope(eventID, name, at, c.Store.ID, c.Store.Slug, data)).SetCustomerID(CustomerOf(data)).SetCreatedAt(at))
		}
	}
	if len(events) == 0 {
		return false, nil
	}
	written, err := c.Tx.Event.CreateBulk(events...).Save(ctx)
	if err != nil {
		return false, err
	}
	sent := make([]fanout.Event, len(written))
	for i, e := range written {
		sent[i] = fanout.Event{ID: e.ID, Type: e.Type}
	}
	added, err := fanout.Write(ctx, c.DB, c.Tx, c.Time(), c.Store.ID, sent)
	return added > 0, err
}

// data returns the data of an event about an object: what a GET answers right after the commit. It is the change's own answer,
// if that is the object.
func (c *Change) data(ctx context.Context, id uuid.UUID) (proto.Message, error) {
	if c.answer != nil && c.answer.GetId() == id.String() {
		return c.answer, nil
	}
	switch row := c.rows[id].row.(type) {
	case *ent.Product:
		return resource.Product(row, c.Store.Currency), nil
	case *ent.Customer:
		return resource.Customer(row, c.Store.Currency), nil
	case *ent.Order:
		return resource.ReadOrder(ctx, c.Tx, c.Store, id)
	default:
		return nil, fmt.Errorf("no event for a %T", row)
	}
}
