package validate

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/tenant"
)

// ParseID reads a UUID in its usual form of 36 characters, in either case; no other form
// names a resource.
func ParseID(text string) (uuid.UUID, bool) {
	if len(text) != 36 {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// StoreAndID returns the store of the context, and the id by which a request names one of its resources. A text
// that is no id names nothing: the error is that of missing.
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

// Time brings a date-time into the form in which times are stored, UTC in milliseconds; nil
// stays nil.
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

// Known refuses an enum number that has no meaning; only binary requests can carry one.
func (p *Problems) Known(field string, e protoreflect.Enum) {
	if e.Number() != 0 && e.Descriptor().Values().ByNumber(e.Number()) == nil {
		p.Invalid(field, "has an unknown value")
	}
}
