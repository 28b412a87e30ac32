package resource

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.storefront.example/gen/ent"
)

// Form is the form of a text field. It decides how server/shop checks and normalizes a text that a request sets.
type Form int

// The forms of texts.
const (
	// Plain is any text.
	Plain Form = iota
	// Line is a text of one line.
	Line
	// Unchecked is a text that is stored as it is, because the rules of its resource check it.
	Unchecked
	// Email is an e-mail address.
	Email
	// Phone is a phone number.
	Phone
	// Address is an http or https address.
	Address
	// Contact is an e-mail address that is shown but never compared with others; it may be empty.
	Contact
)

// Field is one field of a resource whose rows are of type R.
type Field[R any] struct {
	// Name is the name of the column, and of the field in the protos of requests.
	Name string
	// Pointer returns a pointer to the field in row. It is nil for a field that requests cannot set and only the journal has.
	Pointer func(row *R) any
	// Form is the form of the field's text.
	Form Form
	// Journal is the field's name in the activity journal; "" means the JSON form of Name.
	Journal string
}

// Fields lists the fields of a resource in the order in which the activity journal shows them. The list decides which fields
// a request can set, which fields of an old and a new row are compared, and which columns are saved and journaled. The
// bounds of values are in the protos of the requests.
type Fields[R any] []Field[R]

// Column is a column whose changes the activity journal has, and its name in the journal.
type Column struct{ Name, Journal string }

// Columns returns the columns that the journal has, with their names in the journal.
func (t Fields[R]) Columns() []Column {
	columns := make([]Column, len(t))
	for i, f := range t {
		columns[i] = Column{f.Name, f.Journal}
		if f.Journal == "" {
			columns[i].Journal = camel(f.Name)
		}
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
		if f.Name == name && f.Pointer != nil {
			return f, true
		}
	}
	return Field[R]{}, false
}

// Nullable reports whether the field can be null.
func (f Field[R]) Nullable() bool {
	return reflect.TypeOf(f.Pointer(new(R))).Elem().Kind() == reflect.Pointer
}

// Copy sets the field of the row `to` to the field's value in the row `from`.
func (f Field[R]) Copy(to, from *R) {
	reflect.ValueOf(f.Pointer(to)).Elem().Set(reflect.ValueOf(f.Pointer(from)).Elem())
}

// Set sets the field of row to value. nil sets null, or the zero value if the field cannot be null. A field of a named text
// type accepts a string.
func (f Field[R]) Set(row *R, value any) {
	field := reflect.ValueOf(f.Pointer(row)).Elem()
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
	v := reflect.ValueOf(f.Pointer(row)).Elem()
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
		if f.Pointer == nil || f.value(row) == nil {
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
		if f.Pointer == nil || !f.Differs(row, next) {
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
