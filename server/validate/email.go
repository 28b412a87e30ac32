package validate

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/resource"
)

// Email reads the e-mail address of a customer, as Address does. It refuses addresses of the domain of forgotten customers and
// of the domains below it.
func Email(text string) (email string, ok bool) {
	email, ok = Address(text)
	return email, ok && !reserved(email)
}

// reserved reports whether an address in its stored form may be that of a forgotten customer.
func reserved(email string) bool {
	_, domain, _ := cutLast(email, "@")
	return domain == resource.ForgottenDomain || strings.HasSuffix(domain, "."+resource.ForgottenDomain)
}

// Address reads an e-mail address and returns it in the form in which addresses are stored and compared: without spaces and
// invisible characters around it, in NFC and lower case, with its domain in Unicode (UTS 46).
//
// The text must be an address of RFC 5322 without a display name, with a dot in its domain, and with at most 254 characters.
// Spaces and invisible characters inside it are refused, except for plain spaces between quotes.
func Address(text string) (email string, ok bool) {
	local, domain, ok := cutLast(invisible.Trim(text), "@")
	if !ok || invisible.Contains(strings.ReplaceAll(local, " ", "")) || !utf8.ValidString(text) {
		return "", false
	}
	if domain, ok = domainName(domain); !ok {
		return "", false
	}
	email, ok = address(lower(local) + "@" + domain)
	return email, ok && utf8.RuneCountInString(email) <= MaxEmailRunes
}

// Email refuses a text that the function Email does not read, and returns the address in its stored form.
func (p *Problems) Email(field, value string) *string {
	value = p.Text(field, invisible.Trim(value), MaxEmailRunes)
	if p.Refused(field) {
		return nil
	}
	email, ok := Email(value)
	switch {
	case ok:
		return &email
	case reserved(email):
		p.Invalid(field, "must not be of "+resource.ForgottenDomain+", the domain of forgotten customers")
	case invisible.Contains(value):
		p.Invalid(field, "must be an e-mail address, without spaces and invisible characters in it")
	default:
		p.Invalid(field, "must be an e-mail address such as ada@example.com")
	}
	return nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// domainNames converts the names of hosts as browsers do (UTS 46, non-transitional), and checks the lengths that DNS allows.
var domainNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(true))

// domainName returns a domain in Unicode, or in ASCII if its Unicode form has invisible characters, which Email refuses. ok is
// false for a domain without a dot.
func domainName(domain string) (name string, ok bool) {
	ascii, err := domainNames.ToASCII(domain)
	if err != nil || invisible.Contains(domain) || !strings.Contains(ascii, ".") {
		return "", false
	}
	if name, err = domainNames.ToUnicode(ascii); invisible.Contains(name) {
		name = ascii
	}
	return name, err == nil
}

// lower returns a text in NFC and lower case, by Unicode's full mapping (Unicode Standard, section 3.13, R2). So İ becomes
// i̇, not i.
func lower(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(text)
	}
	return norm.NFC.String(cases.Lower(language.Und).String(norm.NFC.String(text)))
}

// address reads a text that is an e-mail address and nothing else, with net/mail. It removes quotes around a local part that
// needs none, so that each address has one spelling.
func address(text string) (email string, ok bool) {
	read, err := mail.ParseAddress(text)
	at := strings.LastIndexByte(text, '@')
	switch {
	case err != nil || read.Name != "" || strings.ContainsFunc(text, unicode.IsControl):
		return "", false
	case read.Address == text:
		return text, true
	case text[0] != '"' || text[at-1] != '"' || !strings.HasSuffix(read.Address, text[at:]):
		return "", false // beside the address, the text has a comment, white space or brackets
	}
	quoted := read.String() // String writes brackets around the address
	return quoted[1 : len(quoted)-1], true
}

// Contact checks the e-mail address that a store shows to its buyers. It removes spaces and invisible characters around the
// address, and does not change it otherwise. The address may be empty.
func (p *Problems) Contact(field, value string) string {
	value = p.Text(field, invisible.Trim(value), MaxEmailRunes)
	if read, err := mail.ParseAddress(value); value != "" && (err != nil || read.Address != value || invisible.Contains(value)) {
		p.Invalid(field, "must be an e-mail address such as help@example.com")
	} else if email, ok := Address(value); ok && reserved(email) {
		p.Invalid(field, "must not be of "+resource.ForgottenDomain+", the domain of forgotten customers")
	}
	return value
}
