// Package hook writes the records of every change, in the transaction of the change: its entry in
// the store's activity journal and its rows in the outbox.
//
//	mutation ──► hook: notes the change ──┐
//	mutation ──► hook: notes the change ──┤ one transaction
//	Flush ──► journal rows, outbox rows ◄─┘
//	COMMIT ──► Committed: the request is given the ids of its events
//
// The rows are written at the end of the transaction, because an event shows what a GET answers
// right after the commit: the customer of a first purchase already has that order counted. A
// transaction that dies leaves neither the change nor its rows.
//
// It also owns the transaction's one time. The time is fixed once the transaction holds the rows to
// change, so that the moments of one object follow the order of the commits: see Hold and Time.
//
// It refuses a change outside a transaction, a change under another store than the context's, a
// journaled change of a row that is not held, and bulk changes of journaled rows, for which a hook
// would run only once.
package hook

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

type contextKey struct{}

// recorder collects the changes of one transaction.
type recorder struct {
	moment
	noJournal bool
	noEvents  bool
	// rows holds the newest state of each product and customer changed.
	rows map[uuid.UUID]ent.Value
	// orders holds each order as it was read after its last change.
	orders  map[uuid.UUID]proto.Message
	entries []entry
	events  []event
	writes  []write
	// made are the events' ids, once they are written.
	made []uuid.UUID
}

type entry struct {
	action, resourceType string
	resourceID           uuid.UUID
	changes              []byte
}

type event struct {
	kind       string
	resourceID uuid.UUID
}

// Silence stops journal entries for the rest of the transaction, for loading existing data, and
// events too unless withEvents is true. Record still writes the entry for the load.
func Silence(ctx context.Context, withEvents bool) {
	r := from(ctx)
	r.noJournal, r.noEvents = true, !withEvents
}

// Record adds a journal entry that belongs to no single row, such as that of a load of many rows.
// Each change is a field's name and its new value.
func Record(ctx context.Context, action, resourceType string, resourceID uuid.UUID, changes ...Change) {
	r := from(ctx)
	r.entries = append(r.entries, entry{action, resourceType, resourceID, appendChanges(nil, changes)})
}

func from(ctx context.Context) *recorder {
	r, ok := ctx.Value(contextKey{}).(*recorder)
	if !ok {
		panic("hook: used outside a transaction")
	}
	return r
}

// Register makes the client note every change of a journaled row. Call it once for a client, before
// any other use.
func Register(c *ent.Client) {
	c.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			k, watched := kinds[m.Type()]
			if !watched {
				return next.Mutate(ctx, m)
			}
			return note(ctx, k, m, next)
		})
	})
}

// note runs a mutation and records its changes.
func note(ctx context.Context, k kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	if _, err := m.(interface{ Tx() (*ent.Tx, error) }).Tx(); err != nil {
		return nil, fmt.Errorf("change a %s: outside a transaction", k.resource)
	}
	r, ok := ctx.Value(contextKey{}).(*recorder)
	store, _, tenanted := tenant.From(ctx)
	switch {
	case !ok || !tenanted:
		return nil, fmt.Errorf("change a %s: the context names no transaction or no store", k.resource)
	case !m.Op().Is(ent.OpCreate | ent.OpUpdateOne):
		return nil, fmt.Errorf("change a %s: only one row at a time can be journaled", k.resource)
	case m.Op().Is(ent.OpCreate) && k.ownerOf(m) != store.ID:
		return nil, fmt.Errorf("create a %s: it belongs to another store than the context", k.resource)
	}
	changes, err := k.changes(ctx, m)
	if err != nil {
		return nil, err
	}
	id, ok := m.(interface{ ID() (uuid.UUID, bool) }).ID()
	if ok && m.Op().Is(ent.OpUpdateOne) && len(changes) > 0 && !r.held[id] {
		return nil, fmt.Errorf("change a %s: its row is not held (hook.Hold)", k.resource)
	}
	value, err := next.Mutate(ctx, m)
	if err != nil {
		return nil, err
	}
	if id, ok = m.(interface{ ID() (uuid.UUID, bool) }).ID(); !ok {
		return nil, fmt.Errorf("change a %s: it has no id", k.resource)
	}
	// No other transaction sees a new row before the commit.
	r.held[id] = true
	clear(r.orders)
	r.noted(k, m.Op(), id, value, changes)
	return value, nil
}

// Moved notes the change of an order's status, which the transaction makes by a statement of its own
// (AtFlush) instead of a mutation; shown is the order as a GET answers after the commit. Both rows are
// of an order that is held.
func Moved(ctx context.Context, before, after *ent.Order, shown proto.Message) error {
	r, k := from(ctx), kinds[ent.TypeOrder]
	if !r.held[after.ID] {
		return fmt.Errorf("change a %s: its row is not held (hook.Hold)", k.resource)
	}
	changes := []Change{{Field: "status", From: plain(before.Status), To: plain(after.Status)}}
	r.noted(k, ent.OpUpdateOne, after.ID, after, changes)
	r.orders[after.ID] = shown
	return nil
}

// Created notes a new customer, product or order, which the transaction stores by a statement of its own
// (field.Rows) instead of a mutation, like a change by one.
func Created(ctx context.Context, row ent.Value) error {
	r := from(ctx)
	if r.noJournal && r.noEvents {
		return nil
	}
	var k kind
	switch row.(type) {
	case *ent.Product:
		k = kinds[ent.TypeProduct]
	case *ent.Customer:
		k = kinds[ent.TypeCustomer]
	case *ent.Order:
		k = kinds[ent.TypeOrder]
	default:
		return fmt.Errorf("create a %T: its journal entry and events are not known", row)
	}
	if store, _, tenanted := tenant.From(ctx); !tenanted || k.rows.Value(row, "store_id") != store.ID {
		return fmt.Errorf("create a %s: it belongs to another store than the context", k.resource)
	}
	id := k.rows.Value(row, "id").(uuid.UUID)
	r.held[id] = true
	r.noted(k, ent.OpCreate, id, row, k.filled(row))
	return nil
}

// noted keeps a change for Flush.
func (r *recorder) noted(k kind, op ent.Op, id uuid.UUID, row ent.Value, changes []Change) {
	r.rows[id] = row
	if len(changes) > 0 && !r.noJournal {
		r.entries = append(r.entries, entry{k.action(op, changes), k.resource, id, appendChanges(nil, changes)})
	}
	if k.events != nil && !r.noEvents {
		for _, name := range k.events(op, changes, row) {
			r.events = append(r.events, event{name, id})
		}
	}
}

var errForeignTransaction = errors.New("the transaction was not begun with its own context")
