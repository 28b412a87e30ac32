package validate

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/tenant"
)

// ParseID reads a UUID in its usual form of 36 characters, in either case. No other form identifies a resource.
func ParseID(text string) (uuid.UUID, bool) {
	if len(text) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// StoreAndID returns the context's store and the id in a request. For a text that is not an id it returns missing's error,
// because no resource has it.
func StoreAndID(ctx context.Context, text string, missing func() error) (tenant.Store, uuid.UUID, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return t, uuid.Nil, err
	}
	id, ok := ParseID(text)
	if !ok {
		return t, id, missing()
	}
	return t, id, nil
}

// Time returns a date-time as it is stored, in UTC and whole milliseconds; nil stays nil.
func (p *Problems) Time(field string, at *timestamppb.Timestamp) *time.Time {
	if at == nil {
		return nil
	}
	if at.CheckValid() != nil {
		p.Invalid(field, "must be an RFC 3339 date-time of the years 1 to 9999")
		return nil
	}
	t := at.AsTime().Truncate(time.Millisecond)
	return &t
}

// Known refuses an enum number that has no name; only binary requests can contain one.
func (p *Problems) Known(field string, e protoreflect.Enum) {
	if e.Number() != 0 && e.Descriptor().Values().ByNumber(e.Number()) == nil {
		p.Invalid(field, "has an unknown value")
	}
}
