package validate

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxSlugBytes is the maximum length of a slug that SlugOf makes.
var MaxSlugBytes = MaxOf("storefront.admin.v1.CreateProductRequest.slug")

// SlugPattern is the form of a slug, as RE2 and ECMA-262 write it.
const SlugPattern = `^[a-z0-9]+(-[a-z0-9]+)*$`

var slugForm = regexp.MustCompile(SlugPattern)

// Slug refuses a slug that needs escapes in an address, or is too long. The slug may be empty; then the service makes one.
func (p *Problems) Slug(field, value string, maxBytes int) string {
	if value != "" && (!slugForm.MatchString(value) || len(value) > maxBytes) {
		p.Invalid(field, fmt.Sprintf("must be 1 to %d lower-case letters, digits and single hyphens", maxBytes))
	}
	return p.NotID(field, value)
}

// SlugOf makes a slug from a title. It keeps letters, without accents, and digits, and puts a hyphen in place of everything
// between them. The result may be empty.
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
