package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// OtherStoresID is the message for an id that a row of another store has. The caller puts the column's name before it.
const OtherStoresID = "belongs to another store"

// identity is a field whose value only one row of a kind may have, spelled as rows store it.
type identity struct{ field, text string }

// row is a row of a batch, after reading, with its place in the batch.
type row[R any] struct {
	index int
	id    uuid.UUID
	names []identity // values that must be unique in the store, besides the id
	data  R
}

// batch holds the rows of a request after reading. If its transaction is repeated, it plans and stores them again.
type batch[R any] struct {
	db      *db.DB
	t       tenant.Store
	url     string // the store's public address
	options *adminv1.ImportOptions
	// exported is true for rows of an export: they are all rows that the store had, and its counters already count them.
	exported bool
	refusedRows
	rows []row[R]
	// fresh are the new rows. changed has the indexes of rows that changed an object of the store. held maps unique values to
	// the ids of the store's rows that have them.
	fresh   []row[R]
	changed []int
	held    map[string]uuid.UUID
	// known are the store's customers to whom rows may refer, as they were before the batch.
	known []*ent.Customer
}

func (b *batch[R]) base() *batch[R] { return b }

// sort separates new rows from rows that the store has, and returns the latter. It finds a row by its id and, if rows are to
// be updated, by the unique values in the columns. It refuses ids of other stores and skips rows that repeat an earlier row's
// id.
func (b *batch[R]) sort(ctx context.Context, tx *ent.Tx, table string, columns ...string) (there []row[R], err error) {
	var names []string
	for _, l := range b.rows {
		for _, name := range l.names {
			names = append(names, name.text)
		}
	}
	stores, err := b.owners(ctx, tx, table, idsOf(b.rows))
	if err != nil {
		return nil, err
	}
	b.held = map[string]uuid.UUID{}
	for _, column := range columns {
		if err := b.hold(ctx, tx, table, column, names, b.held); err != nil {
			return nil, err
		}
	}
	b.fresh = nil
	seen := map[uuid.UUID]bool{}
	for _, l := range b.rows {
		store, has := stores[l.id]
		name, isNamed := b.holder(l.names)
		again := seen[l.id]
		seen[l.id] = true
		switch {
		case again:
		case has && store != b.t.ID:
			b.refuse(l.index, "id", OtherStoresID)
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

// holder returns the first of these unique values that another row has.
func (b *batch[R]) holder(names []identity) (name identity, is bool) {
	for _, name := range names {
		if _, is := b.held[name.text]; is {
			return name, true
		}
	}
	return name, false
}

// claim reserves the unique values of new rows. It refuses a row if a row of the store, or an earlier row of the batch, has one
// of them.
func (b *batch[R]) claim(problem string) {
	var left []row[R]
	for _, l := range b.fresh {
		if name, taken := b.holder(l.names); taken {
			b.refuse(l.index, name.field, problem)
			continue
		}
		for _, name := range l.names {
			b.held[name.text] = l.id
		}
		left = append(left, l)
	}
	b.fresh = left
}

// update changes locked rows of the store to the values in the batch.
func update[R any, T comparable](b *batch[R], there []row[R], locked []T, idOf func(T) uuid.UUID, change func(row[R], T) (T, error)) error {
	rows := map[uuid.UUID]T{}
	for _, r := range locked {
		rows[idOf(r)] = r
	}
	for _, l := range there {
		before, has := rows[l.id]
		if !has {
			continue // the row was deleted meanwhile
		}
		after, err := change(l, before)
		if refused, err := b.refused(l.index, err); err != nil {
			return err
		} else if !refused && after != before {
			b.changed = append(b.changed, l.index)
			rows[l.id] = after
		}
	}
	return nil
}

// A statement takes all values that a batch looks up as one JSON argument, so its text is the same for each batch. With one
// argument for each value, parsing the statement would take longer than the look-up.

// tableOf returns the SQL of a table whose column v has the values of a JSON argument.
func (b *batch[R]) tableOf(sqlType, argument string) string {
	return db.ByDialect(b.db, "(SELECT v::"+sqlType+" FROM jsonb_array_elements_text("+argument+"::jsonb) v)",
		"(SELECT value AS v FROM json_each("+argument+"))")
}

// among returns the SQL after a column id that restricts it to the ids in a JSON argument.
func (b *batch[R]) among(argument string) string {
	ids := b.tableOf("uuid", argument)
	return db.ByDialect(b.db, " = ANY(ARRAY"+ids+")", " IN "+ids)
}

func idsOf[R any](rows []row[R]) []uuid.UUID {
	ids := make([]uuid.UUID, len(rows))
	for i, l := range rows {
		ids[i] = l.id
	}
	return ids
}

func listOf[V any](values []V) string {
	text, _ := json.Marshal(append([]V{}, values...)) // cannot fail for texts and ids; [] for none
	return string(text)
}

// own restricts a query to the store's rows with these ids, in the order of the ids.
func (b *batch[R]) own(ids []uuid.UUID) func(*sql.Selector) {
	before, after, _ := strings.Cut(b.among("?"), "?")
	return func(s *sql.Selector) {
		s.Where(sql.EQ(s.C("store_id"), b.t.ID)).OrderBy(s.C("id")).Where(sql.P(func(p *sql.Builder) {
			p.Ident(s.C("id")).WriteString(before).Arg(listOf(ids)).WriteString(after)
		}))
	}
}

// owners returns, for each of the ids that a row of any store has, that row's store.
func (b *batch[R]) owners(ctx context.Context, tx *ent.Tx, table string, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	stores := map[uuid.UUID]uuid.UUID{}
	for r := range db.Rows(ctx, tx, "SELECT id, store_id FROM "+table+" WHERE id"+b.among("$1"), listOf(ids)) {
		var id, store uuid.UUID
		if err := r.Scan(&id, &store); err != nil {
			return nil, fmt.Errorf("look for ids of the %s: %w", table, err)
		}
		stores[id] = store
	}
	return stores, nil
}

// hold records which of these unique values rows of the store have in a column.
func (b *batch[R]) hold(ctx context.Context, tx *ent.Tx, table, column string, names []string, held map[string]uuid.UUID) error {
	if len(names) == 0 {
		return nil
	}
	values, row := b.tableOf("text", "$1"), table+" WHERE store_id = $2 AND "+column+" = v"
	// The statement looks up each value by itself. With one condition for all values, PostgreSQL would read all rows of the
	// store, because it has no statistics yet of a table that grows.
	query := "SELECT v, id FROM " + values + " t CROSS JOIN " + db.ByDialect(b.db, "LATERAL (SELECT id FROM "+row+" LIMIT 1) r", row)
	for r := range db.Rows(ctx, tx, query, listOf(names), b.t.ID) {
		var name string
		var id uuid.UUID
		if err := r.Scan(&name, &id); err != nil {
			return fmt.Errorf("look for what the store has of the %s: %w", table, err)
		}
		held[name] = id
	}
	return nil
}

// dated sets a missing time to another time.
func dated(at *time.Time, otherwise time.Time) {
	if at.IsZero() {
		*at = otherwise
	}
}
