package transfer

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
)

// OtherStoresID is the message with which an import refuses a row whose id belongs to a row of another store.
const OtherStoresID = "belongs to another store"

// otherStoresID returns OtherStoresID, with the id if the rows come from an export, whose report shows no values.
func (b *batch[R]) otherStoresID(id uuid.UUID) string {
	if b.exported {
		return fmt.Sprintf("%s %s", id, OtherStoresID)
	}
	return OtherStoresID
}

// identity is an e-mail, a phone, a slug or a reference, spelled as in the database, which only one row of a store may have.
// field is its name in the request.
type identity struct{ field, text string }

// row is what kind.read returns. index is its position in the request.
type row[R any] struct {
	index int
	id    uuid.UUID
	names []identity // the row's e-mail and phone, slug or reference, unless empty
	data  R
}

// batch is the rows of one import request. If the change runs again, kind.plan and kind.store do, but not kind.read.
type batch[R any] struct {
	db      *db.DB
	t       tenant.Store
	url     string // the store's public address
	options *adminv1.ImportOptions
	// exported is true for rows of an export, whose counters are complete.
	exported bool
	refusedRows
	rows []row[R]
	// fresh has the rows to insert, and changed the indexes of those that changed a row of the store. held maps each slug or
	// reference, in the store or the request, to its row's id.
	fresh   []row[R]
	changed []int
	held    map[string]uuid.UUID
	// known are the customers of the store whom the import locked, as they were then.
	known []*ent.Customer
}

func (b *batch[R]) base() *batch[R] { return b }

// sort puts new rows into b.fresh, and returns those that the store has: by id or, with the option update, by the slug or
// reference in one of columns, whose row's id they get. It refuses a row whose id is in another store, and skips one with the
// id of an earlier row.
func (b *batch[R]) sort(c *hook.Change, table string, columns ...string) (existing []row[R], err error) {
	var names []string
	for _, l := range b.rows {
		for _, name := range l.names {
			names = append(names, name.text)
		}
	}
	stores, err := b.owners(c, table, idsOf(b.rows))
	if err != nil {
		return nil, err
	}
	b.held = map[string]uuid.UUID{}
	for _, column := range columns {
		if err := b.findHeld(c, table, column, names, b.held); err != nil {
			return nil, err
		}
	}
	b.fresh = nil
	seen := map[uuid.UUID]bool{}
	for _, l := range b.rows {
		store, exists := stores[l.id]
		name, isNamed := b.holder(l.names)
		repeated := seen[l.id]
		seen[l.id] = true
		switch {
		case repeated:
		case exists && store != b.t.ID:
			b.refuse(l.index, "id", b.otherStoresID(l.id))
		case exists:
			existing = append(existing, l)
		case isNamed && b.options.GetUpdate():
			l.id = b.held[name.text]
			existing = append(existing, l)
		default:
			b.fresh = append(b.fresh, l)
		}
	}
	return existing, nil
}

// holder returns the first of names that b.held has.
func (b *batch[R]) holder(names []identity) (name identity, found bool) {
	for _, name := range names {
		if _, ok := b.held[name.text]; ok {
			return name, true
		}
	}
	return name, false
}

// claim adds the slugs or references of b.fresh to b.held, and refuses the rows whose are there already.
func (b *batch[R]) claim(problem string) {
	var remaining []row[R]
	for _, l := range b.fresh {
		if name, taken := b.holder(l.names); taken {
			b.refuse(l.index, name.field, problem)
			continue
		}
		for _, name := range l.names {
			b.held[name.text] = l.id
		}
		remaining = append(remaining, l)
	}
	b.fresh = remaining
}

// update calls change for each row in existing and the row in locked with the same id. It notes what change returns: another
// row in b.changed, and a refusal.
func update[R any, T comparable](b *batch[R], existing []row[R], locked []T, idOf func(T) uuid.UUID,
	change func(row[R], T) (T, error)) error {
	rows := map[uuid.UUID]T{}
	for _, r := range locked {
		rows[idOf(r)] = r
	}
	for _, l := range existing {
		before, ok := rows[l.id]
		if !ok {
			continue // another request has deleted it from the store
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

// A batch looks up many values with one statement, which gets them as one JSON argument: to parse hundreds of parameters would
// take longer than the look-up.

// tableOf returns the SQL of a table whose column v has the values in a JSON argument.
func (b *batch[R]) tableOf(sqlType, argument string) string {
	return db.ByDialect(b.db, "(SELECT v::"+sqlType+" FROM jsonb_array_elements_text("+argument+"::jsonb) v)",
		"(SELECT value AS v FROM json_each("+argument+"))")
}

// inList returns the right side of a condition, such as " IN (…)", for the ids in a JSON argument.
func (b *batch[R]) inList(argument string) string {
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
	text, _ := json.Marshal(append([]V{}, values...)) // Marshal cannot fail for texts and ids; no values give []
	return string(text)
}

// inStore finds the store's rows with these ids, in the order of the ids.
func (b *batch[R]) inStore(ids []uuid.UUID) func(*sql.Selector) {
	before, after, _ := strings.Cut(b.inList("?"), "?")
	return func(s *sql.Selector) {
		s.Where(sql.EQ(s.C("store_id"), b.t.ID)).OrderBy(s.C("id")).Where(sql.P(func(p *sql.Builder) {
			p.Ident(s.C("id")).WriteString(before).Arg(listOf(ids)).WriteString(after)
		}))
	}
}

// owners returns the stores of the rows with these ids, by id.
func (b *batch[R]) owners(c *hook.Change, table string, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	stores := map[uuid.UUID]uuid.UUID{}
	for r := range db.Rows(c, c.Tx, "SELECT id, store_id FROM "+table+" WHERE id"+b.inList("$1"), listOf(ids)) {
		var id, store uuid.UUID
		if err := r.Scan(&id, &store); err != nil {
			return nil, fmt.Errorf("look for ids of the %s: %w", table, err)
		}
		stores[id] = store
	}
	return stores, nil
}

// findHeld adds to held each of names that a row of the store has in a column, with the row's id.
func (b *batch[R]) findHeld(c *hook.Change, table, column string, names []string,
	held map[string]uuid.UUID) error {
	if len(names) == 0 {
		return nil
	}
	values, row := b.tableOf("text", "$1"), table+" WHERE store_id = $2 AND "+column+" = v"
	// LATERAL makes PostgreSQL look up each value by an index. It has no statistics yet of a table that grows.
	query := "SELECT v, id FROM " + values + " t CROSS JOIN " + db.ByDialect(b.db, "LATERAL (SELECT id FROM "+row+" LIMIT 1) r", row)
	for r := range db.Rows(c, c.Tx, query, listOf(names), b.t.ID) {
		var name string
		var id uuid.UUID
		if err := r.Scan(&name, &id); err != nil {
			return fmt.Errorf("look for what the store has of the %s: %w", table, err)
		}
		held[name] = id
	}
	return nil
}

func setDefaultTime(at *time.Time, fallback time.Time) {
	if at.IsZero() {
		*at = fallback
	}
}
