package hook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"go.storefront.example/ent/apijson"
)

// Change is one field of a journal entry. A value is nil, text, a bool, an int64, a float64, a
// time, or a list or map of text; nil stands for null.
type Change struct {
	Field    string
	From, To any
}

// plain converts a column's value to one of the types of Change: it follows pointers and drops
// named types.
func plain(v any) any {
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer:
		if rv.IsNil() {
			return nil
		}
		return plain(rv.Elem().Interface())
	}
	switch v := v.(type) {
	case time.Time:
		return v.UTC()
	case fmt.Stringer:
		return v.String()
	}
	switch rv.Kind() {
	case reflect.String:
		return rv.String()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return rv.Int()
	default:
		return v
	}
}

func equal(a, b any) bool {
	if x, ok := a.(time.Time); ok {
		y, ok := b.(time.Time)
		return ok && x.Equal(y)
	}
	return reflect.DeepEqual(a, b)
}

// appendChanges appends the changes as a JSON object, {"title":{"from":"a","to":"b"}}, in their
// order.
func appendChanges(b []byte, changes []Change) []byte {
	b = append(b, '{')
	for i, c := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = apijson.AppendString(b, c.Field)
		b = append(b, `:{"from":`...)
		b = appendValue(b, c.From)
		b = append(b, `,"to":`...)
		b = appendValue(b, c.To)
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return apijson.AppendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case time.Time:
		return apijson.AppendTime(b, v)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("hook: journal a value of type %T: %v", v, err))
		}
		return append(b, text...)
	}
}
