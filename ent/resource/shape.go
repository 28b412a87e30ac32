package resource

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
)

// shape pairs the columns of a table, whose rows are of type R, with the fields of the same names in a message of type M. Fields
// without a column are set by the caller.
type shape[R, M any] struct {
	columns []string // that a statement reads, in the order of the message's fields
	places  []int    // of the columns, in R
	copies  []func(message, row reflect.Value)
}

// shapeOf returns the shape of a message. Statements read the columns named in also too. It panics if a column cannot be
// converted to its field.
func shapeOf[R, M any](also ...string) shape[R, M] {
	var s shape[R, M]
	places := map[string]int{}
	for name, place := range columnsOf[R]() {
		places[name] = place
	}
	read := func(name string) {
		s.columns, s.places = append(s.columns, name), append(s.places, places[name])
	}
	message, row := reflect.TypeFor[M](), reflect.TypeFor[R]()
	for i := range message.NumField() {
		_, name, _ := strings.Cut(message.Field(i).Tag.Get("protobuf"), "name=")
		name, _, _ = strings.Cut(name, ",")
		if place, ok := places[name]; ok {
			read(name)
			s.copies = append(s.copies, copied(message.Field(i), i, row.Field(place), place))
		}
	}
	for _, name := range also {
		read(name)
	}
	return s
}

// copied returns a function that copies one column to its field.
func copied(to reflect.StructField, field int, from reflect.StructField, place int) func(message, row reflect.Value) {
	if to.Type == from.Type && to.Type.Kind() == reflect.String { // faster than Set
		return func(message, row reflect.Value) { message.Field(field).SetString(row.Field(place).String()) }
	}
	if to.Type == from.Type {
		return func(message, row reflect.Value) { message.Field(field).Set(row.Field(place)) }
	}
	if enum, ok := reflect.Zero(to.Type).Interface().(protoreflect.Enum); ok && from.Type.Kind() == reflect.String {
		numbers := map[string]int64{}
		for i := range enum.Descriptor().Values().Len() {
			v := enum.Descriptor().Values().Get(i)
			numbers[string(v.Name())] = int64(v.Number())
		}
		return func(message, row reflect.Value) { message.Field(field).SetInt(numbers[row.Field(place).String()]) }
	}
	if to.Type == reflect.TypeFor[string]() && from.Type == reflect.TypeFor[uuid.UUID]() {
		return func(message, row reflect.Value) {
			message.Field(field).SetString(row.Field(place).Addr().Interface().(*uuid.UUID).String())
		}
	}
	if to.Type == reflect.TypeFor[*timestamppb.Timestamp]() && from.Type == reflect.TypeFor[time.Time]() {
		return func(message, row reflect.Value) {
			*message.Field(field).Addr().Interface().(**timestamppb.Timestamp) =
				apijson.Timestamp(*row.Field(place).Addr().Interface().(*time.Time))
		}
	}
	if to.Type == reflect.TypeFor[*timestamppb.Timestamp]() && from.Type == reflect.TypeFor[*time.Time]() {
		return func(message, row reflect.Value) {
			*message.Field(field).Addr().Interface().(**timestamppb.Timestamp) =
				apijson.OptionalTimestamp(*row.Field(place).Addr().Interface().(**time.Time))
		}
	}
	panic(fmt.Sprintf("resource: the column %s cannot be converted to %s", from.Name, to.Type))
}

// fill sets the fields of a message from the columns of a row, and returns the message. It shares the row's texts.
func (s shape[R, M]) fill(message *M, row *R) *M {
	to, from := reflect.ValueOf(message).Elem(), reflect.ValueOf(row).Elem()
	for _, copyField := range s.copies {
		copyField(to, from)
	}
	return message
}

// selected returns the columns of a statement; alias is the table's name in it.
func (s shape[R, M]) selected(alias string) string {
	return alias + "." + strings.Join(s.columns, ", "+alias+".")
}

// scan reads the columns of a statement into row. before are the destinations of the columns before them.
func (s shape[R, M]) scan(rows *sql.Rows, row *R, before ...any) error {
	dest, from := make([]any, 0, len(before)+len(s.places)), reflect.ValueOf(row).Elem()
	dest = append(dest, before...)
	for _, place := range s.places {
		dest = append(dest, from.Field(place).Addr().Interface())
	}
	return rows.Scan(dest...)
}
