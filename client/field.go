package client

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Field is one field of a change. The zero value leaves it unchanged; Set gives it a value, and Clear removes its value.
type Field[T any] struct {
	set   bool
	value *T
}

// Set changes a field to a value, which may be the zero value.
func Set[T any](value T) Field[T] { return Field[T]{set: true, value: &value} }

// Clear removes the value of a field that can be null, such as a compare-at price. The service refuses it for any other field.
func Clear[T any]() Field[T] { return Field[T]{set: true} }

// addToMask adds a field that was set or cleared to the mask, and returns the value to send, or nil.
func addToMask[T any](mask *[]string, name string, f Field[T]) *T {
	if f.set {
		*mask = append(*mask, name)
	}
	return f.value
}

// optional returns nil for the zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func timestampOf(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}
