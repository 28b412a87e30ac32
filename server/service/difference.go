package service

import (
	"time"

	"go.storefront.example/gen/ent"
)

// setIfNamed gives a field the value that a change names for it; nil names none.
func setIfNamed[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// differ tells whether two values that may be null are different.
func differ[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}

// differAt tells whether two moments that may be null are different.
func differAt(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !a.Equal(*b)
}

// unchanged tells whether a mutation would change nothing.
func unchanged(m ent.Mutation) bool {
	return len(m.Fields()) == 0 && len(m.ClearedFields()) == 0
}

// setOrClear gives a column that may be null its new value.
func setOrClear[T, U any](value *T, set func(T) U, clear func() U) {
	if value == nil {
		clear()
	} else {
		set(*value)
	}
}

// setIfChanged sets a column when a change names another value for it.
func setIfChanged[T comparable, U any](old T, value *T, set func(T) U) {
	if value != nil && *value != old {
		set(*value)
	}
}
