package resource

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.storefront.example/gen/ent"
)

// Form is the form of a text that a request sets. server/shop checks it and normalizes the text for storage.
type Form int

// The forms of texts.
const (
	// Plain is any text.
	Plain Form = iota
	// Unchecked is stored as it is, because the rules of its resource check it.
	Unchecked
	// Email is an e-mail address.
	Email
	// Phone is a phone number.
	Phone
	// Address is an http or https address.
	Address
	// Contact is an e-mail address that is only shown, never compared; it may be empty.
	Contact
)

// Field is one field of a resource whose rows are of type R.
type Field[R any] struct {
	// Name is the name of the column, and of the proto's field in requests.
	Name string
	// Of returns a pointer to the field of a row. A field without Of exists only for the journal, because the service sets it
	// by its own rules.
	Of func(row *R) any
	// Form is the form of the field's text.
	Form Form
	// Journal is the field's name in the journal, if that is not the JSON form of Name.
	Journal string
}

// Fields lists the fields of a resource in the order in which the activity journal shows them. The list decides which fields a
// request can set, how changes are detected, what is saved, and what the journal shows. The protos of the requests declare the
// bounds.
type Fields[R any] []Field[R]

// Column is a journaled column and its name in the journal.
type Column struct{ Name, Journal string }

// Columns returns the journaled columns.
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

// camel returns the JSON form of a column's name.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// Lookup returns the settable field with this name.
func (t Fields[R]) Lookup(name string) (Field[R], bool) {
	for _, f := range t {
		if f.Name == name && f.Of != nil {
			return f, true
		}
	}
	return Field[R]{}, false
}

// Nullable reports whether the field can be null.
func (f Field[R]) Nullable() bool {
	return reflect.TypeOf(f.Of(new(R))).Elem().Kind() == reflect.Pointer
}

// Copy copies the field from one row to another.
func (f Field[R]) Copy(to, from *R) {
	reflect.ValueOf(f.Of(to)).Elem().Set(reflect.ValueOf(f.Of(from)).Elem())
}

// Set sets a row's field to a value. nil stands for null, or for the zero value of a field that cannot be null. A field of a
// named text type accepts a string.
func (f Field[R]) Set(row *R, value any) {
	field := reflect.ValueOf(f.Of(row)).Elem()
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

// value returns the value of a row's field, or nil for null.
func (f Field[R]) value(row *R) any {
	v := reflect.ValueOf(f.Of(row)).Elem()
	if v.Kind() != reflect.Pointer {
		return v.Interface()
	}
	if v.IsNil() {
		return nil
	}
	return v.Elem().Interface()
}

// Differs reports whether the field differs between two rows.
func (f Field[R]) Differs(a, b *R) bool {
	x, y := f.value(a), f.value(b)
	if t, ok := x.(time.Time); ok {
		u, ok := y.(time.Time)
		return !ok || !t.Equal(u)
	}
	return !reflect.DeepEqual(x, y)
}

// Fill sets, in a mutation that creates a row, the row's fields that are not null.
func (t Fields[R]) Fill(m ent.Mutation, row *R) error {
	for _, f := range t {
		if f.Of == nil || f.value(row) == nil {
			continue
		}
		if err := f.save(m, row); err != nil {
			return err
		}
	}
	return nil
}

// Update sets, in a mutation that updates row, the fields in which next differs, and reports whether there are any.
func (t Fields[R]) Update(m ent.Mutation, row, next *R) (changed bool, err error) {
	for _, f := range t {
		if f.Of == nil || !f.Differs(row, next) {
			continue
		}
		changed = true
		if err := f.save(m, next); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// save sets a row's value in a mutation, or clears it if it is null.
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
