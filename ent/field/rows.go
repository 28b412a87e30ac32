package field

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/orderitem"
	"go.storefront.example/gen/ent/product"
)

// The tables whose rows are stored by statements of ours (Rows).
var (
	CustomerRows = rowsOf[ent.Customer](customer.Table, customer.Columns)
	ProductRows  = rowsOf[ent.Product](product.Table, product.Columns)
	OrderRows    = rowsOf[ent.Order](order.Table, order.Columns)
	ItemRows     = rowsOf[ent.OrderItem](orderitem.Table, orderitem.Columns)
)

// sqliteRows is how many rows a statement stores on SQLite. The connection keeps statements of this
// length prepared; parsing one for a whole batch costs as much as storing the batch.
const sqliteRows = 50

// Rows stores rows of ent's type R by statements that a connection prepares once. A builder of ent for
// each row takes longer than the database takes to store the row.
type Rows[R any] struct {
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

// rowsOf returns the rows of R, whose fields name their columns in the tag json.
func rowsOf[R any](name string, columns []string) *Rows[R] {
	t := &Rows[R]{name: name}
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
	panic(fmt.Sprintf("field: no column has values of type %s", of))
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

// Array is the array of PostgreSQL that holds the values, and its type.
func Array[V any](values []V) (literal, kind string) {
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

// Value returns the value of a column of a row, which is a *R.
func (t *Rows[R]) Value(row any, name string) any {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	return reflect.ValueOf(row).Elem().FieldByIndex(t.columns[i].field).Interface()
}

// Insert returns the statements that store the rows, with their arguments. On PostgreSQL it is one, with
// an array for each column if there are several rows.
func (t *Rows[R]) Insert(database string, rows ...*R) iter.Seq2[string, []any] {
	size := max(1, len(rows))
	if database == dialect.SQLite {
		size = sqliteRows
	}
	return func(yield func(string, []any) bool) {
		for part := range slices.Chunk(rows, size) {
			insert := t.values
			if database == dialect.Postgres && len(part) > 1 {
				insert = t.arrays
			}
			if !yield(insert(part)) {
				return
			}
		}
	}
}

// values is the insert of rows with a parameter for each of their values.
func (t *Rows[R]) values(rows []*R) (statement string, args []any) {
	b := append([]byte(t.into()), " VALUES "...)
	args = make([]any, 0, len(rows)*len(t.columns))
	for _, r := range rows {
		v := reflect.ValueOf(r).Elem()
		next := byte('(')
		for _, c := range t.columns {
			args = append(args, v.FieldByIndex(c.field).Interface())
			b = strconv.AppendInt(append(b, next, '$'), int64(len(args)), 10)
			next = ','
		}
		b = append(b, "),"...)
	}
	return string(b[:len(b)-1]), args
}

// arrays is the insert of rows with an array of PostgreSQL for each column.
func (t *Rows[R]) arrays(rows []*R) (statement string, args []any) {
	arrays, args := make([]string, len(t.columns)), make([]any, len(t.columns))
	for i, c := range t.columns {
		arrays[i] = "$" + strconv.Itoa(i+1) + "::" + c.postgres + "[]"
		b := []byte{'{'}
		for _, r := range rows {
			b = append(c.text(b, reflect.ValueOf(r).Elem().FieldByIndex(c.field)), ',')
		}
		args[i] = closed(b)
	}
	return t.into() + " SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")", args
}

// into is the head of an insert.
func (t *Rows[R]) into() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ")"
}
