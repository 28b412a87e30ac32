package validate

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/tenant"
)

// ParseID reads a UUID in its form of 36 characters, in upper or lower case. It refuses the other forms that the uuid
// package reads.
func ParseID(text string) (uuid.UUID, bool) {
	if len(text) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// StoreAndID returns the store of the context, and the id in a request. If the text is no id, it returns the error of
// notFound, because no resource has this id. It refuses a request with fields that could not be decoded before that.
func StoreAndID(ctx context.Context, text string, notFound func() error) (tenant.Store, uuid.UUID, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return t, uuid.Nil, err
	}
	if err := NewProblems(ctx).Err(); err != nil {
		return t, uuid.Nil, err
	}
	id, ok := ParseID(text)
	if !ok {
		return t, id, notFound()
	}
	return t, id, nil
}

// Time converts a time (at) to UTC and whole milliseconds, the form in which times are stored. It returns nil if at is nil.
// It refuses a time before the year 1 or after the year 9999.
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

// Enum refuses a number that is no value of the enum. Only requests in the binary format can have such a number.
func (p *Problems) Enum(field string, e protoreflect.Enum) {
	if e.Number() != 0 && e.Descriptor().Values().ByNumber(e.Number()) == nil {
		p.Invalid(field, "has an unknown value")
	}
}
