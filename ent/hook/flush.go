package hook

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/field"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
	"go.storefront.example/gen/ent"
)

// write is a statement of Flush without a result.
type write struct {
	into      *inserts // nil for a statement of its own
	statement string
	args      []any
}

// inserts are writes that are rows of one insert.
type inserts struct{ head, row, between string }

// AtFlush leaves a statement without a result to Flush, which on PostgreSQL makes it a part of a
// statement with others: a round trip less for each. It changes rows that the transaction holds, or
// inserts new ones, and nothing else of the transaction reads or changes them afterwards.
func AtFlush(ctx context.Context, statement string, args ...any) {
	r := from(ctx)
	r.writes = append(r.writes, write{nil, statement, args})
}

// Insert leaves the inserts of new rows to Flush. Rows that are journaled are noted by Created.
func Insert[R any](ctx context.Context, database string, into *field.Rows[R], rows ...*R) {
	for statement, args := range into.Insert(database, rows...) {
		AtFlush(ctx, statement, args...)
	}
}

// together is how many writes share a statement on PostgreSQL: all of an ordinary transaction. The text of
// more of them would be too long to be kept prepared.
const together = 10

// Flush runs what AtFlush left to it and writes the journal entries, the events and their outbox entries
// of the transaction that Begin began, in as few statements as the database can. Call it once, right
// before the commit. It reports whether the outbox has anything to announce after the commit: an event to
// which no enabled webhook of the store subscribes is kept, but not queued.
func Flush(ctx context.Context, tx *ent.Tx, database string) (queued bool, err error) {
	r, ok := ctx.Value(contextKey{}).(*recorder)
	if !ok {
		return false, errForeignTransaction
	}
	if len(r.entries) > 0 || len(r.events) > 0 {
		var written trace.Span
		ctx, written = r.begin(ctx)
		defer func() { tracing.End(written, err) }()
		if err := r.records(ctx, tx, database); err != nil {
			return false, fmt.Errorf("write the outbox: %w", err)
		}
	}
	size := together
	if database == dialect.SQLite {
		size = 1
	}
	for some := range slices.Chunk(r.writes, size) {
		n, err := run(ctx, tx, some)
		if err != nil {
			return false, fmt.Errorf("write the changes, the journal and the outbox: %w", err)
		}
		queued = queued || n > 0
	}
	return queued, nil
}

// run runs writes as one statement: the insert into the outbox, or else the last one, takes in the others.
// It returns how many rows the outbox was given.
func run(ctx context.Context, tx *ent.Tx, writes []write) (queued int64, err error) {
	var statements []string
	var args []any
	main, queues := -1, false
	merged := map[*inserts]int{}
	for _, w := range writes {
		statement := shift(w.statement, len(args))
		args = append(args, w.args...)
		if i, more := merged[w.into]; more {
			statements[i] += w.into.between + statement
			continue
		}
		if w.into != nil {
			merged[w.into] = len(statements)
			statement = w.into.head + statement
		}
		if !queues {
			main, queues = len(statements), w.into == outbox || w.into == outboxSQLite
		}
		statements = append(statements, statement)
	}
	var with []byte
	for i, statement := range statements {
		if i != main {
			with = fmt.Appendf(with, ", w%d AS (%s)", i, statement)
		}
	}
	text := statements[main]
	if len(with) > 0 {
		text = "WITH " + string(with[len(", "):]) + " " + text
	}
	result, err := tx.ExecContext(ctx, text, args...)
	if err != nil || !queues {
		return 0, err
	}
	return result.RowsAffected()
}

// shift returns a statement with its parameters numbered from by + 1 instead of 1.
func shift(statement string, by int) string {
	if by == 0 {
		return statement
	}
	var b []byte
	for {
		before, after, found := strings.Cut(statement, "$")
		b = append(b, before...)
		if !found {
			return string(b)
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		number, _ := strconv.Atoi(after[:digits]) // our own statements: it is a number
		b = strconv.AppendInt(append(b, '$'), int64(number+by), 10)
		statement = after[digits:]
	}
}

// Every change runs these statements, nearly always for a single row. So they bypass the query
// builder: as texts that a connection prepares once they halve the service's time for them.
var (
	entries = &inserts{`INSERT INTO activity_entries
 (id, store_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, changes, created_at) VALUES `,
		`($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, ", "}
	events = &inserts{`INSERT INTO events (id, store_id, type, payload, created_at, request_id, trace) VALUES `, `($1, $2, $3, $4, $5, $6, $7)`, ", "}
	outbox = &inserts{intoOutbox, `SELECT $1::uuid, $2::uuid, $3::text WHERE EXISTS (
 SELECT 1 FROM webhooks w WHERE w.store_id = $2 AND w.enabled AND w.events ? $3::text)`, " UNION ALL "}
	outboxSQLite = &inserts{intoOutbox, `SELECT $1, $2, $3 WHERE EXISTS (
 SELECT 1 FROM webhooks w, json_each(w.events) e WHERE w.store_id = $2 AND w.enabled AND e.value = $3)`, " UNION ALL "}
)

const intoOutbox = `INSERT INTO outbox (event_id, store_id, type) `

// add leaves a row of an insert to Flush.
func (r *recorder) add(into *inserts, args ...any) {
	r.writes = append(r.writes, write{into, into.row, args})
}

// records adds the writes of the journal entries, of the events and of their outbox entries.
func (r *recorder) records(ctx context.Context, tx *ent.Tx, database string) error {
	store, actor, _ := tenant.From(ctx)
	for _, e := range r.entries {
		r.add(entries, id.At(r.time()), store.ID, actor.Type, actor.ID, actor.Name, e.action, e.resourceType, e.resourceID, e.changes, r.time())
	}
	queue := outbox
	if database == dialect.SQLite {
		queue = outboxSQLite
	}
	request, trace := Cause(ctx)
	for _, e := range r.events {
		data, err := r.data(ctx, tx, store, e)
		if err != nil {
			return fmt.Errorf("render %s: %w", e.kind, err)
		}
		eventID := id.At(r.time())
		r.add(events, eventID, store.ID, e.kind, Envelope(eventID, e.kind, r.time(), store.ID, store.Slug, data), r.time(), request, trace)
		r.add(queue, eventID, store.ID, e.kind)
		r.made = append(r.made, eventID)
	}
	return nil
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
