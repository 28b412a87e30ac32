package importing

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// foreign is why an id is refused; whoever reads the file knows its column.
const foreign = "belongs to another store"

// row is a row of a batch that was read, with its place in the batch.
type row[R any] struct {
	index int
	id    uuid.UUID
	names []identity // what one row of the store has alone, beside the id
	data  R
}

// batch holds the rows of a request that have been read. A transaction that is repeated plans and stores them again.
type batch[R any] struct {
	db      *db.DB
	t       tenant.Store
	url     string // of the store
	options *adminv1.ImportOptions
	// exported is whether the rows are of an export: they are all that the store has, and counted already.
	exported bool
	refusedRows
	rows []row[R]
	// fresh are the rows that are new, held the ids of the store's rows by their names.
	fresh []row[R]
	held  map[string]uuid.UUID
}

func (b *batch[R]) rowsRead() *batch[R] { return b }

// sort tells the rows that are new from those that the store has, which it returns: by id and, to update them, by what
// names them in one of the columns. It refuses ids of other stores and passes over rows that repeat an earlier one's id.
func (b *batch[R]) sort(ctx context.Context, tx *ent.Tx, table string, columns ...string) (there []row[R], err error) {
	ids := make([]string, len(b.rows))
	var names []string
	for i, l := range b.rows {
		ids[i] = l.id.String()
		for _, name := range l.names {
			names = append(names, name.text)
		}
	}
	known, err := b.lookup(ctx, tx, table, "id", ids)
	if err != nil {
		return nil, err
	}
	b.held = map[string]uuid.UUID{}
	for _, column := range columns {
		if err := b.hold(ctx, tx, table, column, names); err != nil {
			return nil, err
		}
	}
	b.fresh = nil
	seen := map[uuid.UUID]bool{}
	for _, l := range b.rows {
		found, has := known[l.id.String()]
		name, isNamed := b.holder(l.names)
		again := seen[l.id]
		seen[l.id] = true
		switch {
		case again:
		case has && found.store != b.t.ID:
			b.refuse(l.index, "id", foreign)
		case has:
			there = append(there, l)
		case isNamed && b.options.GetUpdate():
			l.id = b.held[name.text]
			there = append(there, l)
		default:
			b.fresh = append(b.fresh, l)
		}
	}
	return there, nil
}

// holder returns the first of the names that another row has.
func (b *batch[R]) holder(names []identity) (name identity, is bool) {
	for _, name := range names {
		if _, is := b.held[name.text]; is {
			return name, true
		}
	}
	return name, false
}

// claim gives the new rows their names. It refuses those one of whose names another row has, of the store or further up in
// the batch, unless they are then that row: they are left out.
func (b *batch[R]) claim(problem string, same bool) {
	var left []row[R]
	for _, l := range b.fresh {
		name, taken := b.holder(l.names)
		switch {
		case !taken:
			b.noteHolder(l.names, l.id)
			left = append(left, l)
		case !same:
			b.refuse(l.index, name.field, problem)
		}
	}
	b.fresh = left
}

// noteHolder notes whose names they are.
func (b *batch[R]) noteHolder(names []identity, id uuid.UUID) {
	for _, name := range names {
		b.held[name.text] = id
	}
}

// update changes rows of the store, which are locked, to what the batch says, and returns how many were changed.
func update[R any, T comparable](b *batch[R], there []row[R], locked []T, idOf func(T) uuid.UUID, change func(row[R], T) (T, error)) (
	changed int, err error) {
	rows := map[uuid.UUID]T{}
	for _, r := range locked {
		rows[idOf(r)] = r
	}
	for _, l := range there {
		before, has := rows[l.id]
		if !has {
			continue // deleted meanwhile
		}
		after, err := change(l, before)
		if refused, err := b.refused(l.index, err); err != nil {
			return 0, err
		} else if !refused && after != before {
			changed++
			rows[l.id] = after
		}
	}
	return changed, nil
}

// The values that a batch looks up are one argument of a statement, JSON, so that the statement's text is the
// same for each batch. With one argument per value, parsing the statement takes longer than looking up the values.

// tableOf is the SQL of a table that has the values of a JSON argument in its column v.
func tableOf(database, sqlType, argument string) string {
	if database == dialect.Postgres {
		return "(SELECT v::" + sqlType + " FROM jsonb_array_elements_text(" + argument + "::jsonb) v)"
	}
	return "(SELECT value AS v FROM json_each(" + argument + "))"
}

func idsOf[R any](rows []row[R]) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i, l := range rows {
		ids[i] = l.id
	}
	return ids
}

func listOf[V any](values []V) string {
	text, _ := json.Marshal(append([]V{}, values...)) // texts and ids; [] for none
	return string(text)
}

// among is the condition that an id is one of the values.
func among(column string, values []uuid.UUID) func(*sql.Selector) {
	return func(s *sql.Selector) {
		s.Where(sql.P(func(b *sql.Builder) {
			b.Ident(s.C(column))
			if s.Dialect() == dialect.Postgres {
				b.WriteString(" = ANY(ARRAY(SELECT v::uuid FROM jsonb_array_elements_text(").Arg(listOf(values)).WriteString("::jsonb) v))")
				return
			}
			b.WriteString(" IN (SELECT value FROM json_each(").Arg(listOf(values)).WriteString("))")
		}))
	}
}

// owned is a row of a store.
type owned struct{ id, store uuid.UUID }

// lookup maps values to the rows that have them in a column: those of every store for the column id, and otherwise the
// store's.
func (b *batch[R]) lookup(ctx context.Context, tx *ent.Tx, table, column string, values []string) (map[string]owned, error) {
	found := map[string]owned{}
	if len(values) == 0 {
		return found, nil
	}
	sqlType, where, args := "uuid", column+" = v", []any{listOf(values)}
	inStore := column != "id"
	if inStore {
		sqlType, where, args = "text", "store_id = $2 AND "+where, append(args, b.t.ID)
	}
	query := "SELECT v, id, store_id FROM " + tableOf(b.db.Dialect(), sqlType, "$1") + " t CROSS JOIN "
	switch {
	case db.OfSharded(b.db, false, !inStore, false):
		// Citus asks all nodes at once, and bounds nothing for each value there.
		query = "SELECT id, id, store_id FROM " + table + " WHERE id = ANY(ARRAY(SELECT v::uuid FROM jsonb_array_elements_text($1::jsonb) v))"
	case b.db.Dialect() == dialect.Postgres:
		// One look-up per value: with a single condition for all, PostgreSQL would read all rows of the store
		// while it has no statistics of a growing table.
		query += "LATERAL (SELECT id, store_id FROM " + table + " WHERE " + where + " LIMIT 1) r"
	default:
		query += table + " WHERE " + where
	}
	for r := range db.Rows(ctx, tx, query, args...) {
		var value string
		var of owned
		if err := r.Scan(&value, &of.id, &of.store); err != nil {
			return nil, fmt.Errorf("look for what the store has of the %s: %w", table, err)
		}
		found[value] = of
	}
	return found, nil
}

// hold notes which of the names a row of the store has in a column.
func (b *batch[R]) hold(ctx context.Context, tx *ent.Tx, table, column string, names []string) error {
	found, err := b.lookup(ctx, tx, table, column, names)
	for name, of := range found {
		b.held[name] = of.id
	}
	return err
}

// dated sets a missing time.
func dated(at *time.Time, otherwise time.Time) {
	if at.IsZero() {
		*at = otherwise
	}
}
