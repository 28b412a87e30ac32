package hook

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
)

// beside is a statement that runs with those of Flush.
type beside struct {
	statement string
	args      []any
}

// AtFlush leaves a statement without a result to Flush, which on PostgreSQL makes it a part of a
// statement of its own: a round trip less for each. It changes rows that the transaction holds and
// that nothing else of the transaction reads or changes afterwards.
func AtFlush(ctx context.Context, statement string, args ...any) {
	r := from(ctx)
	r.beside = append(r.beside, beside{statement, args})
}

// Flush writes the journal entries, the events and their outbox entries of the transaction that
// Begin began, a statement for each, and runs what AtFlush left to it; on PostgreSQL, one event, one
// entry and all of that share a statement. Call it once, right before the commit. It reports
// whether the outbox has anything to announce after the commit: an event to which no enabled webhook
// of the store subscribes is kept, but not queued.
func Flush(ctx context.Context, tx *ent.Tx, database string) (queued bool, err error) {
	r, ok := ctx.Value(contextKey{}).(*recorder)
	if !ok {
		return false, errForeignTransaction
	}
	if database == dialect.SQLite || len(r.entries) == 0 && len(r.events) == 0 {
		for _, b := range r.beside {
			if _, err := exec(ctx, tx, b.statement, b.args); err != nil {
				return false, fmt.Errorf("run what was left to the end: %w", err)
			}
		}
		r.beside = nil
	}
	if len(r.entries) == 0 && len(r.events) == 0 {
		return false, nil
	}
	store, actor, _ := tenant.From(ctx)
	ctx, written := r.begin(ctx)
	defer func() { tracing.End(written, err) }()
	entries := r.journal(store, actor)
	events, err := r.outbox(ctx, tx, store)
	if err != nil {
		return false, fmt.Errorf("write the outbox: %w", err)
	}
	s := postgres
	if database == dialect.SQLite {
		s = sqlite
	}
	for ; s.both != "" && len(entries) > 0 && len(events) > 0; entries, events = entries[1:], events[1:] {
		n, err := r.exec(ctx, tx, s.both, append(events[0], entries[0]...))
		if err != nil {
			return false, fmt.Errorf("write the activity journal and the outbox: %w", err)
		}
		queued = queued || n > 0
	}
	for _, row := range entries {
		if _, err := r.exec(ctx, tx, insertEntry, row); err != nil {
			return false, fmt.Errorf("write the activity journal: %w", err)
		}
	}
	for _, row := range events {
		if s.event != "" {
			if _, err := exec(ctx, tx, s.event, row); err != nil {
				return false, fmt.Errorf("write an event: %w", err)
			}
			row = row[:3]
		}
		n, err := r.exec(ctx, tx, s.outbox, row)
		if err != nil {
			return false, fmt.Errorf("write the outbox: %w", err)
		}
		queued = queued || n > 0
	}
	return queued, nil
}

// exec runs a statement of Flush, the first one together with all that AtFlush left.
func (r *recorder) exec(ctx context.Context, tx *ent.Tx, statement string, args []any) (int64, error) {
	if len(r.beside) == 0 {
		return exec(ctx, tx, statement, args)
	}
	with := []byte("WITH ")
	for i, b := range r.beside {
		with = fmt.Appendf(with, "beside%d AS (", i)
		with = append(shift(with, b.statement, len(args)), "), "...)
		args = append(args, b.args...)
	}
	r.beside = nil
	if rest, more := strings.CutPrefix(statement, "WITH "); more {
		return exec(ctx, tx, string(with)+rest, args)
	}
	return exec(ctx, tx, string(with[:len(with)-len(", ")])+" "+statement, args)
}

// shift appends a statement whose parameters are numbered from by + 1 instead of 1.
func shift(b []byte, statement string, by int) []byte {
	for {
		before, after, found := strings.Cut(statement, "$")
		b = append(b, before...)
		if !found {
			return b
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		number, _ := strconv.Atoi(after[:digits]) // our own statements: it is a number
		b = strconv.AppendInt(append(b, '$'), int64(number+by), 10)
		statement = after[digits:]
	}
}

func exec(ctx context.Context, tx *ent.Tx, statement string, args []any) (int64, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Every change runs these statements, nearly always for a single row. So they bypass the query
// builder: as texts that a connection prepares once they halve the service's time for them. The
// rows affected are those of the outbox.
const (
	entryColumns = `activity_entries
 (id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at)`
	insertEntry = `INSERT INTO ` + entryColumns + ` VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertEvent = `INSERT INTO events (id, store_id, type, payload, created_at, request_id, trace) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	intoOutbox  = `INSERT INTO outbox (event_id, store_id, type) SELECT $1, $2, $3 WHERE EXISTS (`

	subscribed = intoOutbox + `SELECT 1 FROM webhooks w WHERE w.store_id = $2 AND w.enabled AND w.events ? $3::text)`
)

// statements are the inserts for one database.
type statements struct {
	both   string // event, outbox and journal entry; "" if the database has none
	event  string // "" if outbox writes the event too
	outbox string
}

var (
	postgres = statements{
		both: `WITH event AS (` + insertEvent + `), entry AS (INSERT INTO ` + entryColumns +
			` VALUES ($8, $9, $10, $11, $12, $13, $14, $15, $16, $17)) ` + subscribed,
		outbox: `WITH event AS (` + insertEvent + `) ` + subscribed,
	}
	sqlite = statements{
		event: insertEvent,
		outbox: intoOutbox + `SELECT 1 FROM webhooks w, json_each(w.events) e
 WHERE w.store_id = $2 AND w.enabled AND e.value = $3)`,
	}
)

// journal returns the arguments of insertEntry for each entry.
func (r *recorder) journal(store tenant.Store, actor tenant.Actor) [][]any {
	rows := make([][]any, len(r.entries))
	for i, e := range r.entries {
		rows[i] = []any{
			id.At(r.time()), store.ID, actor.Type, actor.ID, actor.Name, e.action, e.resourceType, e.resourceID, e.changes, r.time(),
		}
	}
	return rows
}

// outbox returns the arguments of insertEvent for each event.
func (r *recorder) outbox(ctx context.Context, tx *ent.Tx, store tenant.Store) ([][]any, error) {
	rows := make([][]any, len(r.events))
	request, trace := Cause(ctx)
	for i, e := range r.events {
		data, err := r.data(ctx, tx, store, e)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", e.kind, err)
		}
		eventID := id.At(r.time())
		rows[i] = []any{eventID, store.ID, e.kind, Envelope(eventID, e.kind, r.time(), store.ID, store.Slug, data), r.time(), request, trace}
		r.made = append(r.made, eventID)
	}
	return rows, nil
}

// data returns the object that an event concerns, as GET answers right after the commit.
func (r *recorder) data(ctx context.Context, tx *ent.Tx, store tenant.Store, e event) (proto.Message, error) {
	switch row := r.rows[e.resourceID].(type) {
	case *ent.Product:
		return resource.Product(row, store.Currency), nil
	case *ent.Customer:
		return resource.Customer(row, store.Currency), nil
	case *ent.Order:
		// Two events may carry one order; it is read once, for the response or here.
		if o, ok := r.orders[e.resourceID]; ok {
			return o, nil
		}
		message, err := resource.FindOrder(ctx, tx, store, e.resourceID)
		if err != nil {
			return nil, err
		}
		r.orders[e.resourceID] = message
		return message, nil
	default:
		return nil, fmt.Errorf("no event for a %T", row)
	}
}
