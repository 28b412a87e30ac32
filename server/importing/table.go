package importing

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	"go.storefront.example/gen/ent/product"
)

// The tables that rows are imported into.
var (
	customersTable = tableOf[ent.Customer](customer.Table, customer.Columns)
	productsTable  = tableOf[ent.Product](product.Table, product.Columns)
	ordersTable    = tableOf[ent.Order](order.Table, order.Columns)
	itemsTable     = tableOf[ent.OrderItem](orderitem.Table, orderitem.Columns)
)

// sqliteRows is how many rows a statement stores on SQLite. The connection keeps statements of this
// length prepared; parsing one for a whole batch costs as much as storing the batch.
const sqliteRows = 50

// table stores rows of ent's type R, a batch in a few statements that a connection prepares once. A
// builder of ent for each row takes longer than the database takes to store the row.
type table[R any] struct {
	name    string
	columns []column
}

// column is a column with the field of R that it holds.
type column struct {
	name  string
	field []int
	// postgres is the column's type on PostgreSQL, or one that is assigned to it.
	postgres string
	text     func(b []byte, v reflect.Value) []byte
}

// tableOf returns the table of R, whose fields name their columns in the tag json.
func tableOf[R any](name string, columns []string) *table[R] {
	t := &table[R]{name: name}
	fields := reflect.VisibleFields(reflect.TypeFor[R]())
	for _, c := range columns {
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == c
		})
		kind, text := encoding(fields[i].Type)
		t.columns = append(t.columns, column{c, fields[i].Index, kind, text})
	}
	return t
}

// encoding returns the type of a Go type's values on PostgreSQL, and how an array there spells one.
func encoding(of reflect.Type) (postgres string, text func(b []byte, v reflect.Value) []byte) {
	switch {
	case of.Kind() == reflect.Pointer:
		kind, text := encoding(of.Elem())
		return kind, func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, "NULL"...)
			}
			return text(b, v.Elem())
		}
	case of == reflect.TypeFor[uuid.UUID]():
		return "uuid", func(b []byte, v reflect.Value) []byte {
			return append(b, v.Addr().Interface().(*uuid.UUID).String()...)
		}
	case of == reflect.TypeFor[time.Time]():
		return "timestamptz", func(b []byte, v reflect.Value) []byte {
			return append(v.Addr().Interface().(*time.Time).UTC().AppendFormat(append(b, '"'), "2006-01-02 15:04:05.999999Z07:00"), '"')
		}
	}
	switch of.Kind() {
	case reflect.String:
		return "text", func(b []byte, v reflect.Value) []byte { return appendQuoted(b, v.String()) }
	case reflect.Bool:
		return "boolean", func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	case reflect.Int32:
		return "integer", func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Int64:
		return "bigint", func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Float64:
		return "double precision", func(b []byte, v reflect.Value) []byte { return strconv.AppendFloat(b, v.Float(), 'g', -1, 64) }
	}
	panic(fmt.Sprintf("importing: no column has values of type %s", of))
}

// appendQuoted appends a text as an element of an array of PostgreSQL.
func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return append(b, '"')
}

// arrayOf is the array of PostgreSQL that holds the values.
func arrayOf[V any](values []V) (literal, kind string) {
	kind, text := encoding(reflect.TypeFor[V]())
	b := []byte{'{'}
	for v := range values {
		b = append(text(b, reflect.ValueOf(&values[v]).Elem()), ',')
	}
	return closed(b), kind + "[]"
}

// closed closes an array after its last comma.
func closed(b []byte) string {
	if len(b) == 1 {
		return "{}"
	}
	b[len(b)-1] = '}'
	return string(b)
}

// insert stores the rows.
func (t *table[R]) insert(ctx context.Context, tx *ent.Tx, database string, rows []*R) error {
	if len(rows) == 0 {
		return nil
	}
	if database == dialect.Postgres {
		return t.insertArrays(ctx, tx, rows)
	}
	for part := range slices.Chunk(rows, sqliteRows) {
		args := make([]any, 0, len(part)*len(t.columns))
		for _, r := range part {
			v := reflect.ValueOf(r).Elem()
			for _, c := range t.columns {
				args = append(args, v.FieldByIndex(c.field).Interface())
			}
		}
		row := "(" + strings.Repeat("?,", len(t.columns)-1) + "?)"
		if _, err := tx.ExecContext(ctx, t.into()+" VALUES "+row+strings.Repeat(","+row, len(part)-1), args...); err != nil {
			return fmt.Errorf("store the %s: %w", t.name, err)
		}
	}
	return nil
}

// insertArrays stores the rows on PostgreSQL, by one statement with an array for each column.
func (t *table[R]) insertArrays(ctx context.Context, tx *ent.Tx, rows []*R) error {
	arrays, args := make([]string, len(t.columns)), make([]any, len(t.columns))
	for i, c := range t.columns {
		arrays[i] = "$" + strconv.Itoa(i+1) + "::" + c.postgres + "[]"
		b := []byte{'{'}
		for _, r := range rows {
			b = append(c.text(b, reflect.ValueOf(r).Elem().FieldByIndex(c.field)), ',')
		}
		args[i] = closed(b)
	}
	if _, err := tx.ExecContext(ctx, t.into()+" SELECT * FROM unnest("+strings.Join(arrays, ", ")+")", args...); err != nil {
		return fmt.Errorf("store the %s: %w", t.name, err)
	}
	return nil
}

// into is the head of an insert.
func (t *table[R]) into() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ")"
}

// storeRows stores the rows and notes their events.
func storeRows[R any](ctx context.Context, tx *ent.Tx, b *batch, into *table[R], rows []*R) error {
	if err := into.insert(ctx, tx, b.db.Dialect(), rows); err != nil {
		return err
	}
	for _, r := range rows {
		if err := hook.Loaded(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
