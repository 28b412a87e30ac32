package transfer

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/validate"
)

// problems collects everything that is wrong with a row. Its methods check fields that an import may set, but no request of
// the API.
type problems struct {
	validate.Problems
	t tenant.Store
	// exported is true for a row of an export. Its values may be valid only by the rules of an older release.
	exported bool
}

// maxReferenceRunes is how many characters an order's reference may have.
const maxReferenceRunes = 100

// name checks a slug, a reference or a code, which must not have the form of an id. It accepts the row's own id in an export,
// because release 2026-09 used the id of an order without a reference as its reference.
func (p *problems) name(field, value string, own uuid.UUID) string {
	if p.exported && strings.EqualFold(value, own.String()) {
		return value
	}
	return p.NotID(field, value)
}

// timeOrZero reads a date-time, and returns the zero time if there is none. It refuses the zero time itself, for which other
// code would set the time of the import.
func (p *problems) timeOrZero(field string, at *timestamppb.Timestamp) time.Time {
	t := p.Time(field, at)
	switch {
	case t == nil:
		return time.Time{}
	case t.IsZero():
		p.Invalid(field, "must be after 0001-01-01T00:00:00Z, or missing")
	}
	return *t
}

// storeCurrency refuses a currency other than the store's.
func (p *problems) storeCurrency(currency string) {
	if currency != "" && currency != p.t.Currency {
		p.Invalid("currency", "must be "+p.t.Currency+", the store's currency")
	}
}

// requiredEnum refuses an enum that has no value or an unknown one.
func (p *problems) requiredEnum(field string, e protoreflect.Enum) {
	if e.Number() == 0 {
		p.Invalid(field, "is required")
	}
	p.Enum(field, e)
}

// line checks a text of one line. In a row of an export, it writes a space in place of line ends, which an older release
// stored.
func (p *problems) line(field, value string, maxRunes int) string {
	if p.exported {
		value = invisible.OneLine(value)
	}
	return p.Line(field, value, maxRunes)
}

// title checks a text of one line that must not be empty, as line does.
func (p *problems) title(field, value string) string {
	if p.exported {
		value = invisible.OneLine(value)
	}
	return p.Title(field, value)
}

// requiredText trims and checks a text of one line that must not be empty.
func (p *problems) requiredText(field, value string, maxRunes int) string {
	value = p.line(field, value, maxRunes)
	if value == "" {
		p.Invalid(field, "is required")
	}
	return value
}

// importedSlug checks the slug of a product from another shop. It accepts every slug that needs no escapes in a URL, even if
// the API would refuse it, because the product keeps its address in this way. The slug may be empty; the import then makes
// one.
func (p *problems) importedSlug(field, value string) string {
	value = p.Text(field, value, validate.MaxTitleRunes)
	if url.PathEscape(value) != value || strings.ContainsAny(value, "/?#") {
		p.Invalid(field, "must stand in an address as it is")
	}
	return value
}

// nonNegative checks a counter or an amount, which must be from 0 to validate.MaxAmount.
func (p *problems) nonNegative(field string, value int64) int64 {
	if value < 0 || value > validate.MaxAmount {
		p.Invalid(field, fmt.Sprintf("must be a whole number from 0 to %d", int64(validate.MaxAmount)))
	}
	return value
}
