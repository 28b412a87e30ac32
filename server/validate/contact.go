package validate

import (
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

// URL is an http or https address that may be null.
func (p *Problems) URL(field string, value *string) *string {
	text := p.OptionalText(field, value, maxURLRunes)
	if text == nil || p.Refused(field) {
		return text
	}
	u, err := url.Parse(*text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || strings.ContainsFunc(*text,
		unicode.IsSpace) {
		p.Invalid(field, "must be an http or https address")
	}
	return text
}

// Email brings an e-mail address into the form in which it is compared and stored: trimmed, in NFC
// and lower case (RFC 5322 address without display name, on a domain with a dot).
func (p *Problems) Email(field, value string) *string {
	text := p.Text(field, value, MaxEmailRunes)
	if p.Refused(field) {
		return nil
	}
	text, ok := address(lower(text))
	if !ok {
		p.Invalid(field, "must be an e-mail address such as ada@example.com")
		return nil
	}
	text = p.Text(field, text, MaxEmailRunes) // lower case may be longer
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
	if err != nil || number.GetExtension() != "" || strings.ContainsFunc(value, unicode.IsControl) ||
		!phonenumbers.IsPossibleNumber(number) {
		p.Add(apierr.PhoneInvalid, field, "must be a possible number, in international form such as +237670000001")
		return nil
	}
	text := phonenumbers.Format(number, phonenumbers.E164)
	return &text
}

// Contact refuses an e-mail address that is shown to buyers as it is; it may be empty.
func (p *Problems) Contact(field, value string) {
	p.Text(field, value, MaxEmailRunes)
	if address, err := mail.ParseAddress(value); value != "" && (err != nil || address.Address != value) {
		p.Invalid(field, "must be an e-mail address such as help@example.com")
	}
}
