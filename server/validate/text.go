package validate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.storefront.example/ent/invisible"
)

// These are the maximum lengths of texts in characters (Unicode code points) after trimming, as the protos declare them.
var (
	MaxTitleRunes        = MaxOf("storefront.v1.UpdateProductRequest.title")
	MaxSummaryRunes      = MaxOf("storefront.v1.UpdateProductRequest.summary")
	MaxDescriptionRunes  = MaxOf("storefront.v1.UpdateProductRequest.description")
	MaxCustomerNameRunes = MaxOf("storefront.v1.UpdateCustomerRequest.name")
	MaxEmailRunes        = MaxOf("storefront.v1.UpdateCustomerRequest.email")
	maxURLRunes          = MaxOf("storefront.v1.UpdatePaymentLinkRequest.cover_url")
	MaxNoteRunes         = MaxOf("storefront.admin.v1.CreateOrderRequest.note")
)

// Text trims a text and refuses it if it is longer than maxRunes, contains a control character other than newline and tab, or
// is not UTF-8.
func (p *Problems) Text(field, value string, maxRunes int) string {
	if !utf8.ValidString(value) {
		p.Invalid(field, "must be UTF-8 text")
		return value
	}
	if strings.ContainsFunc(value, notInText) {
		p.Invalid(field, "must not hold control characters other than newline and tab")
		return value
	}
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxRunes {
		p.Invalid(field, tooLong(int64(maxRunes)))
	}
	return value
}

func tooLong(maxRunes int64) string {
	return fmt.Sprintf("must be at most %d characters long", maxRunes)
}

// notInText reports whether no text may have this character.
func notInText(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Line trims and checks a text as Text does, and refuses line ends in it.
func (p *Problems) Line(field, value string, maxRunes int) string {
	value = p.Text(field, value, maxRunes)
	if !p.Refused(field) && invisible.HasLineEnd(value) {
		p.Invalid(field, "must be one line")
	}
	return value
}

// Storable reports whether a database can store a text: it must be UTF-8 and have no NUL. PostgreSQL refuses other texts,
// even in conditions.
func Storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// Title trims and checks a text of one line that must not be empty.
func (p *Problems) Title(field, value string) string {
	value = p.Line(field, value, MaxTitleRunes)
	if value == "" {
		p.Invalid(field, fmt.Sprintf("must be 1 to %d characters long", MaxTitleRunes))
	}
	return value
}

// OptionalText trims and checks a text that may be nil. For an empty text it returns nil.
func (p *Problems) OptionalText(field string, value *string, maxRunes int) *string {
	if value == nil {
		return nil
	}
	text := p.Text(field, *value, maxRunes)
	if text == "" {
		return nil
	}
	return &text
}
