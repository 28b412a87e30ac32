package validate

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
)

// ParseID reads a UUID in its form of 36 characters, in upper or lower case. It refuses the other forms that the uuid
// package reads.
func ParseID(text string) (uuid.UUID, bool) {
	if len(text) != 36 {
		return uuid.Nil, false
	}
	read, err := uuid.Parse(text)
	return read, err == nil
}

// RowID reads the id of a row that comes from outside, such as a row of an import. Unlike ParseID, it refuses the ids that
// id.IsReserved reports.
func (p *Problems) RowID(field, text string) uuid.UUID {
	read, ok := ParseID(text)
	switch {
	case !ok:
		p.Invalid(field, "must be a UUID")
	case id.IsReserved(read):
		p.Invalid(field, "must be another UUID: the service reserves this one")
	}
	return read
}

// IsIDForm reports whether a text could be read as an id, in any spelling of a UUID: in upper case, without hyphens, in braces,
// or as a URN. A slug, a reference or a code must not have this form, because a request may have an id in its place.
func IsIDForm(text string) bool {
	_, err := uuid.Parse(strings.TrimSpace(text))
	return err == nil
}

// NotID refuses a slug, a reference or a code that has the form of an id.
func (p *Problems) NotID(field, value string) string {
	if IsIDForm(value) {
		p.Invalid(field, "must not have the form of a UUID, because it would be taken for an id")
	}
	return value
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

// Enum refuses a number that is no value of the enum.
func (p *Problems) Enum(field string, e protoreflect.Enum) {
	if e.Number() != 0 && e.Descriptor().Values().ByNumber(e.Number()) == nil {
		p.Invalid(field, unknownValue)
	}
}
