package resource

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.storefront.example/gen/ent"
)

// Field is one field of a resource whose rows are of type R.
type Field[R any] struct {
	// Name is the name of the column, and of the field in the protos of requests.
	Name string
	// Settable reports whether requests can set the field; other fields only the journal has.
	Settable bool
	journal  string // the field's name in the activity journal
	index    int    // the field's place in R
}

// Fields lists the fields of a resource in the order in which the activity journal shows them. The list decides which fields
// a request can set, which fields of an old and a new row are compared, and which columns are saved and journaled. The
// bounds of values are in the protos of the requests.
type Fields[R any] []Field[R]

// bookkeeping are the columns that no journal has and no request sets.
const bookkeeping = "id store_id created_at updated_at"

// fieldsOf returns the fields of a table: all its columns in their order, but bookkeeping, secrets and the omitted ones. A
// request can set those that are not fixed. Both lists are names of columns with spaces between them; fieldsOf panics if one
// is no column.
func fieldsOf[R any](fixed, omitted string) Fields[R] {
	var fields Fields[R]
	named := map[string]bool{}
	for _, name := range strings.Fields(fixed + " " + omitted) {
		named[name] = true
	}
	for name, index := range columnsOf[R]() {
		delete(named, name)
		if !slices.Contains(strings.Fields(bookkeeping+" "+omitted), name) {
			fields = append(fields, Field[R]{Name: name, Settable: !slices.Contains(strings.Fields(fixed), name), journal: camel(name),
				index: index})
		}
	}
	if len(named) > 0 {
		panic(fmt.Sprintf("resource: %s has not the columns %v", reflect.TypeFor[R](), slices.Sorted(maps.Keys(named))))
	}
	return fields
}

// called gives a field another name in the journal.
func (t Fields[R]) called(name, journal string) Fields[R] {
	t[slices.IndexFunc(t, func(f Field[R]) bool { return f.Name == name })].journal = journal
	return t
}

// columnsOf returns the columns of the struct that ent makes for a table, in their order, with their places in the struct.
// Sensitive columns are left out.
func columnsOf[R any]() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		row := reflect.TypeFor[R]()
		for i := range row.NumField() {
			tag, _, _ := strings.Cut(row.Field(i).Tag.Get("json"), ",")
			if f := row.Field(i); f.IsExported() && tag != "" && tag != "-" && tag != "edges" && !yield(tag, i) {
				return
			}
		}
	}
}

// Column is a column whose changes the activity journal has, and its name in the journal.
type Column struct{ Name, Journal string }

// Columns returns the columns that the journal has, with their names in the journal.
func (t Fields[R]) Columns() []Column {
	columns := make([]Column, len(t))
	for i, f := range t {
		columns[i] = Column{f.Name, f.journal}
	}
	return columns
}

// camel returns the JSON form of a column's name, such as coverUrl for cover_url.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// Lookup returns the field with this name that a request can set; ok is false if there is none.
func (t Fields[R]) Lookup(name string) (Field[R], bool) {
	for _, f := range t {
		if f.Name == name && f.Settable {
			return f, true
		}
	}
	return Field[R]{}, false
}

// Nullable reports whether the field can be null.
func (f Field[R]) Nullable() bool {
	return reflect.TypeFor[R]().Field(f.index).Type.Kind() == reflect.Pointer
}

// of returns the field of row.
func (f Field[R]) of(row *R) reflect.Value { return reflect.ValueOf(row).Elem().Field(f.index) }

// Copy sets the field of the row `to` to the field's value in the row `from`.
func (f Field[R]) Copy(to, from *R) {
	f.of(to).Set(f.of(from))
}

// Set sets the field of row to value. nil sets null, or the zero value if the field cannot be null. A field of a named text
// type accepts a string.
func (f Field[R]) Set(row *R, value any) {
	field := f.of(row)
	if value == nil {
		field.SetZero()
		return
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	field.Set(reflect.ValueOf(value).Convert(field.Type()))
}

// value returns the value of the field in row, or nil for null.
func (f Field[R]) value(row *R) any {
	v := f.of(row)
	if v.Kind() != reflect.Pointer {
		return v.Interface()
	}
	if v.IsNil() {
		return nil
	}
	return v.Elem().Interface()
}

// Differs reports whether the rows a and b have different values of the field.
func (f Field[R]) Differs(a, b *R) bool {
	x, y := f.value(a), f.value(b)
	if t, ok := x.(time.Time); ok {
		u, ok := y.(time.Time)
		return !ok || !t.Equal(u)
	}
	return !reflect.DeepEqual(x, y)
}

// Fill sets in m, a mutation that creates a row, all fields whose values in row are not null.
func (t Fields[R]) Fill(m ent.Mutation, row *R) error {
	for _, f := range t {
		if !f.Settable || f.value(row) == nil {
			continue
		}
		if err := f.save(m, row); err != nil {
			return err
		}
	}
	return nil
}

// Update sets in the mutation m, which updates row, the fields whose values in next differ from those in row. changed is
// true if there are any.
func (t Fields[R]) Update(m ent.Mutation, row, next *R) (changed bool, err error) {
	for _, f := range t {
		if !f.Settable || !f.Differs(row, next) {
			continue
		}
		changed = true
		if err := f.save(m, next); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// save puts the field's value in row into the mutation m. If the value is null, the mutation clears the column.
func (f Field[R]) save(m ent.Mutation, row *R) (err error) {
	if value := f.value(row); value == nil {
		err = m.ClearField(f.Name)
	} else {
		err = m.SetField(f.Name, value)
	}
	if err != nil {
		return fmt.Errorf("set %s: %w", f.Name, err)
	}
	return nil
}
