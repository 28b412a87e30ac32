package idempotency

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
)

// fingerprint distinguishes requests. Fields with the zero value of their type do not count: a request
// that is repeated after an upgrade which added a field has the same fingerprint as before. A pointer
// to a zero value counts. A request is a text, or a struct with exported fields only.
func fingerprint(asked any) ([sha256.Size]byte, error) {
	text, err := json.Marshal(given(reflect.ValueOf(asked)))
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode the request: %w", err)
	}
	return sha256.Sum256(text), nil
}

// given returns the parts of a request that count, in the form in which package json encodes them.
func given(v reflect.Value) any {
	if _, ok := v.Interface().(json.Marshaler); ok {
		return v.Interface() // a time
	}
	switch v.Kind() {
	case reflect.Pointer:
		return given(v.Elem()) // a nil one is a zero field
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = given(v.Index(i))
		}
		return list
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				fields[v.Type().Field(i).Name] = given(f)
			}
		}
		return fields
	}
	return v.Interface()
}
