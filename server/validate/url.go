package validate

import (
	"net/url"
	"strings"
	"unicode"

	"go.storefront.example/ent/invisible"
)

// URL removes spaces and invisible characters around an address, and refuses it if it is no http or https address. The
// address may be nil.
func (p *Problems) URL(field string, value *string) *string {
	if value == nil {
		return nil
	}
	trimmed := invisible.Trim(*value)
	text := p.OptionalText(field, &trimmed, maxURLRunes)
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
