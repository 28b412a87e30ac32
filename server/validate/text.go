package validate

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"go.storefront.example/server/apierr"
)

// Bounds of texts in characters (Unicode code points), after trimming, as the protos declare them.
var (
	MaxTitleRunes        = Most("storefront.v1.UpdateProductRequest.title")
	MaxSummaryRunes      = Most("storefront.v1.UpdateProductRequest.summary")
	MaxDescriptionRunes  = Most("storefront.v1.UpdateProductRequest.description")
	MaxCustomerNameRunes = Most("storefront.v1.UpdateCustomerRequest.name")
	maxEmailRunes        = Most("storefront.v1.UpdateCustomerRequest.email")
	maxURLRunes          = Most("storefront.v1.UpdatePaymentLinkRequest.cover_url")
	MaxNoteRunes         = Most("storefront.admin.v1.CreateOrderRequest.note")
)

// The bounds of amounts that requests declare and that loads and orders are held to.
var (
	PriceBound   = MustBound("storefront.v1.UpdateProductRequest.price_amount")
	PaymentBound = MustBound("storefront.admin.v1.CreateOrderRequest.amount")
)

// MaxAmount bounds every amount: 2^53-1, the largest integer that a JavaScript client reads
// exactly (ECMA-262, Number.MAX_SAFE_INTEGER).
const MaxAmount = 1<<53 - 1

// Text trims a text and refuses it when it is longer than max, holds a control character other than
// newline and tab, or is not UTF-8.
func (p *Problems) Text(field, value string, maxRunes int) string {
	if !utf8.ValidString(value) {
		p.Invalid(field, "must be UTF-8 text")
		return value
	}
	for _, r := range value {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			p.Invalid(field, "must not hold control characters other than newline and tab")
			return value
		}
	}
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxRunes {
		p.Invalid(field, fmt.Sprintf("must be at most %d characters long", maxRunes))
	}
	return value
}

// Storable reports whether a text can be that of a stored row: PostgreSQL holds UTF-8 without NUL, and
// refuses to look for anything else.
func Storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// Title is a text that must not be empty.
func (p *Problems) Title(field, value string) string {
	value = p.Text(field, value, MaxTitleRunes)
	if value == "" {
		p.Invalid(field, fmt.Sprintf("must be 1 to %d characters long", MaxTitleRunes))
	}
	return value
}

// OptionalText is a text that may be null; an empty one is stored as null.
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

// URL is an http or https address that may be null.
func (p *Problems) URL(field string, value *string) *string {
	text := p.OptionalText(field, value, maxURLRunes)
	if text == nil || p.Refused(field) {
		return text
	}
	u, err := url.Parse(*text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || strings.ContainsFunc(*text, unicode.IsSpace) {
		p.Invalid(field, "must be an http or https address")
	}
	return text
}

// Email brings an e-mail address into the form in which it is compared and stored: trimmed, in NFC
// and lower case (RFC 5322 address without display name, on a domain with a dot).
func (p *Problems) Email(field, value string) *string {
	text := p.Text(field, value, maxEmailRunes)
	if p.Refused(field) {
		return nil
	}
	text, ok := address(lower(text))
	if !ok {
		p.Invalid(field, "must be an e-mail address such as ada@example.com")
		return nil
	}
	text = p.Text(field, text, maxEmailRunes) // lower case may be longer
	return &text
}

// lower is a text in NFC and in lower case by Unicode's full mapping (Unicode Standard, section 3.13,
// R2), so that İ becomes i̇ and not i.
func lower(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(text)
	}
	return norm.NFC.String(cases.Lower(language.Und).String(norm.NFC.String(text)))
}

// address reads a text that is an e-mail address and nothing else, as net/mail reads it. A local part
// in quotes keeps them only if it needs them, so that an address has one spelling.
func address(text string) (one string, ok bool) {
	read, err := mail.ParseAddress(text)
	at := strings.LastIndexByte(text, '@')
	switch {
	case err != nil || read.Name != "" || !dottedDomain(text[at+1:]) || strings.ContainsFunc(text, unicode.IsControl):
		return "", false
	case read.Address == text:
		return text, true
	case text[0] != '"' || text[at-1] != '"' || !strings.HasSuffix(read.Address, text[at:]):
		return "", false // a comment, white space or brackets
	}
	quoted := read.String() // in brackets
	return quoted[1 : len(quoted)-1], true
}

func dottedDomain(domain string) bool {
	dot := strings.IndexByte(domain, '.')
	return dot > 0 && !strings.HasSuffix(domain, ".") && !strings.HasPrefix(domain, "[")
}

// Phone brings a phone number into E.164 form (ITU-T E.164), reading a number without a country
// code as one of the store's country.
func (p *Problems) Phone(field, value, country string) *string {
	number, err := phonenumbers.Parse(strings.TrimSpace(value), country)
	if err != nil || number.GetExtension() != "" || strings.ContainsFunc(value, unicode.IsControl) || !phonenumbers.IsPossibleNumber(number) {
		p.Add(apierr.PhoneInvalid, field, "must be a possible number, in international form such as +237670000001")
		return nil
	}
	text := phonenumbers.Format(number, phonenumbers.E164)
	return &text
}

// Contact refuses an e-mail address that is shown to buyers as it is; it may be empty.
func (p *Problems) Contact(field, value string) {
	if address, err := mail.ParseAddress(value); value != "" && (err != nil || address.Address != value) {
		p.Invalid(field, "must be an e-mail address such as help@example.com")
	}
}

// Amount refuses an amount of money out of bounds.
func (p *Problems) Amount(field string, value *int64, b Bound) {
	if value != nil && (*value < b.Least || *value > b.Most) {
		p.Invalid(field, fmt.Sprintf("must be a whole number of minor units from %d to %d", b.Least, b.Most))
	}
}
