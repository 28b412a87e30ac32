// Package hook writes the records of every change, in the transaction of the change: its entry in the store's activity
// journal, its events, and their deliveries to webhooks. Changes are mutations of ent's client; Open adds the hook to the
// clients of a database.
//
//	Run ──► fn: locks rows, changes them
//	          mutation ──► hook notes the change, and registers with the commit
//	          mutation ──► hook notes the change
//	    ──► commit: journal, events, deliveries ──► COMMIT ──► followers and workers are signalled
//
// The commit writes the records, because an event shows what a GET answers right after it. A transaction that dies leaves
// neither the change nor its records.
//
// The hook refuses a mutation outside a change or of another store's row, of journaled columns of a row that is not locked, and
// of journaled columns of many rows at once. Many rows may be created at once. Counters have no journal entry and no event.
package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
)

// recordedMutation is a change that a mutation made, or that Record was given.
type recordedMutation struct {
	action, resource string // action is "" for a change without a journal entry
	id               uuid.UUID
	fields           []FieldChange
	events           []string
	entry            uuid.UUID // id of the journal entry to which this part of a larger change adds; zero for a change of its own
}

// Record adds a journal entry for a change that the hook does not journal, such as a load of many rows.
func (c *Change) Record(action, resource string, id uuid.UUID, fields ...FieldChange) {
	c.register()
	c.changes = append(c.changes, recordedMutation{action: action, resource: resource, id: id, fields: fields})
}

// RecordPart journals one part of a larger change, such as one batch of an import. All parts with one changeID, an id made by
// id.At, share one journal entry about the object, in which the value of field is the sum of their counts. The caller holds a
// lock under which the parts run one after the other.
func (c *Change) RecordPart(changeID uuid.UUID, action, resource string, objectID uuid.UUID, field string, count int64) {
	c.register()
	c.changes = append(c.changes, recordedMutation{
		action: action, resource: resource, id: objectID, fields: []FieldChange{{Field: field, To: count}},
		entry: id.Derive(changeID, c.Store.ID),
	})
}

// register installs the hook in a client, before any other use of it.
func register(c *ent.Client) {
	c.Event.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			return recordEvent(ctx, m.(*ent.EventMutation), next)
		})
	})
	c.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			k, watched := kinds[m.Type()]
			if !watched {
				return next.Mutate(ctx, m)
			}
			return recordMutation(ctx, k, m.(mutation), next)
		})
	})
}

// mutation is a mutation of any table.
type mutation interface {
	ent.Mutation
	Tx() (*ent.Tx, error)
	ID() (uuid.UUID, bool)
}

var (
	errNoTransaction = errors.New("outside a transaction, or the call names no store")
	errManyRows      = errors.New("only one row at a time can be journaled")
	errOtherStore    = errors.New("it belongs to another store than the call")
	errUnlocked      = errors.New("its row is not locked (hook.LockRow)")
)

// recordMutation runs the mutation m of a row of the kind k, and notes it for the commit.
func recordMutation(ctx context.Context, k kind, m mutation, next ent.Mutator) (ent.Value, error) {
	c, _ := ctx.Value(contextKey{}).(*Change)
	fields, err := c.checkedFields(k, m)
	if err != nil {
		return nil, fmt.Errorf("change a %s: %w", k.resource, err)
	}
	id, ok := m.ID() // ent has set the id of a new row already
	if !ok {
		return next.Mutate(ctx, m)
	}
	if m.Op().Is(ent.OpUpdateOne) && len(fields) > 0 && m.Type() != ent.TypeApiKey { // an API key has no column updated_at
		if err := m.SetField("updated_at", c.Time(id)); err != nil {
			return nil, err
		}
	}
	// When many rows are created, ent runs the hook of each row inside the hook of the row before it, so this row's entry is
	// inserted before those of the inner hooks.
	position := len(c.changes)
	value, err := next.Mutate(ctx, m)
	if err != nil {
		return nil, err
	}
	c.rows[id] = lockedRow{row: value, lastMoment: c.rows[id].lastMoment}
	c.register()
	recorded := recordedMutation{resource: k.resource, id: id, fields: fields}
	if len(fields) > 0 && (c.journal == nil || c.journal(m.Op())) {
		recorded.action = k.action(m.Op(), fields)
	}
	if k.events != nil && !c.withoutEvents {
		recorded.events = k.events(m.Op().Is(ent.OpCreate), newStatus(fields), value)
	}
	if recorded.action != "" || len(recorded.events) > 0 {
		c.changes = slices.Insert(c.changes, position, recorded)
	}
	return value, nil
}

// checkedFields returns the journaled columns that m changes, or an error if the change, which may be nil, does not allow it.
func (c *Change) checkedFields(k kind, m mutation) ([]FieldChange, error) {
	if _, err := m.Tx(); err != nil || c == nil || !c.InStore {
		return nil, errNoTransaction
	}
	id, _ := m.ID()
	object, locked := c.rows[id]
	switch op, journaled := m.Op(), k.setsColumn(m); {
	case op.Is(ent.OpDelete), op.Is(ent.OpUpdate) && journaled:
		return nil, errManyRows
	case op.Is(ent.OpUpdate|ent.OpUpdateOne) && !journaled:
		return nil, nil
	case !op.Is(ent.OpCreate) && !locked:
		return nil, errUnlocked
	case storeOf(m, object.row) != c.Store.ID:
		return nil, errOtherStore
	}
	return k.changes(m, object.row)
}

// recordEvent gives a new event the request and the trace that caused it, and notes it for the commit.
func recordEvent(ctx context.Context, m *ent.EventMutation, next ent.Mutator) (ent.Value, error) {
	if c, begun := ctx.Value(contextKey{}).(*Change); begun && m.Op().Is(ent.OpCreate) {
		if c.Request != nil {
			m.SetRequestID(c.Request.ID)
		}
		if parent := tracing.Traceparent(ctx); parent != "" {
			m.SetTrace(parent)
		}
		if id, ok := m.ID(); ok {
			c.events = append(c.events, id)
			c.register()
		}
	}
	return next.Mutate(ctx, m)
}
