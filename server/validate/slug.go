package validate

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxSlugBytes bounds the short names in addresses.
const MaxSlugBytes = 80

// Slug refuses a slug that an address cannot contain unchanged. It allows an empty one, because the service then makes one.
func (p *Problems) Slug(field, value string) string {
	if value != "" && (value != SlugOf(value) || len(value) > MaxSlugBytes) {
		p.Invalid(field, fmt.Sprintf("must be 1 to %d lower-case letters, digits and single hyphens", MaxSlugBytes))
	}
	return value
}

// SlugOf makes a slug from a title: letters without their marks, digits, and a hyphen for everything between them. It may
// return "".
func SlugOf(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(strings.ToLower(title)) {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLower(r) || unicode.IsDigit(r)):
			hyphen := gap && b.Len() > 0
			if b.Len() == MaxSlugBytes || hyphen && b.Len()+1 == MaxSlugBytes {
				return b.String()
			}
			if hyphen {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		default:
			gap = true
		}
	}
	return b.String()
}
