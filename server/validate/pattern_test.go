package validate_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"pgregory.net/rapid"

	"go.storefront.example/gen/openapi"
	"go.storefront.example/server/validate"
)

// sent returns the pattern that the document has for a field of requests, from the field's proto.
func sent(t *testing.T, field protoreflect.FullName) *regexp.Regexp {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(field)
	require.NoError(t, err)
	b := validate.BoundOf(d.(protoreflect.FieldDescriptor))
	return regexp.MustCompile(validate.Pattern(b.Form, b.Min > 0))
}

// answered returns the pattern that the document has for a field of answers.
func answered(t *testing.T, schema, field string) *regexp.Regexp {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Pattern string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(openapi.Document), &doc))
	pattern := doc.Components.Schemas[schema].Properties[field].Pattern
	require.NotEmpty(t, pattern, "%s.%s", schema, field)
	return regexp.MustCompile(pattern)
}

// around has characters that people copy together with a text, and some that may belong to the text.
const around = " \t\n\u00a0\u00ad\u0600\u061c\u1680\u180e\u2003\u200b\u200d\u200f\u2028\u202a\u202c\u202f\u205f\u2060\u2065\u2066\u2069" +
	"\u3000\ufe0f\ufeff\r\v\x00\x7f\u0085"

// drawn returns a generator of texts that are valid or nearly valid. A text is made of one element of each list in parts.
// Some elements are left out or written twice. Some get a neighbour: a character of the constant called around.
func drawn(parts ...[]string) *rapid.Generator[string] {
	characters := rapid.SampledFrom([]rune(around))
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		mark := func() {
			if rapid.IntRange(0, 9).Draw(t, "mark") == 9 {
				b.WriteRune(characters.Draw(t, "character"))
			}
		}
		for _, list := range parts {
			mark()
			part := rapid.SampledFrom(list).Draw(t, "part")
			switch rapid.IntRange(0, 19).Draw(t, "times") {
			case 19:
			case 18:
				b.WriteString(part + part)
			default:
				b.WriteString(part)
			}
		}
		mark()
		return b.String()
	})
}

// The document's patterns match every text that the service accepts, and every text that it stores. So a client that checks
// the patterns can send and read all of them. If a pattern expresses a whole rule, it also refuses what the rule refuses.
func TestTheDocumentsPatternsMatchWhatTheRulesTake(t *testing.T) {
	t.Parallel()
	taken := map[string]int{}
	for name, row := range map[string]struct {
		texts      *rapid.Generator[string]
		sent, kept *regexp.Regexp
		// read returns the stored form of an accepted text.
		read func(text string) (stored string, ok bool)
		// all is true if the pattern expresses the whole rule.
		all bool
	}{
		"e-mail": {
			texts: drawn([]string{"", " ", "<"}, []string{"ann", "Ann.B", "a+b", "\"a b\"", "\"a@b\"", "a b", "é", "İ", "日本", ".", "(a)"},
				[]string{"@"}, []string{"example", "EXAMPLE", "xn--bcher-kva", "bücher", "a_b", "-a", "日本", "a.b", "[127"},
				[]string{".", "。", "．", "｡", ".."}, []string{"com", "рф", "1", "c-", "com."}, []string{"", " ", "\n"}),
			sent: sent(t, "storefront.v1.CreateCustomerRequest.email"), kept: answered(t, "Customer", "email"), read: validate.Email,
		},
		"phone": {
			texts: drawn([]string{"", "+", "00", "＋", "(", "tel:"}, []string{"237", "1", "٢٣٧", "", "6"},
				[]string{"670000001", "6 70 00 00 01", "４１５５５５０１０１", "(415) 555-0101"}, []string{"", ".0", ";", "x1", "#1", " mobile", " ☎"}),
			sent: sent(t, "storefront.v1.CreateCustomerRequest.phone"), kept: answered(t, "Customer", "phone"),
			read: func(text string) (string, bool) { return validate.Phone(text, "CM") },
		},
		"address": {
			texts: drawn([]string{"http", "HTTPS", "https", "Http", "ftp"}, []string{"://", "://", "://", "//"},
				[]string{"example.com", "bücher.example", "[::1]", "a b", "a"}, []string{"", ":80", ":x", "/"}, []string{"", "?q=é", "#a", "%zz", "%20"}),
			sent: sent(t, "storefront.v1.CreatePaymentLinkRequest.cover_url"),
			kept: sent(t, "storefront.v1.CreatePaymentLinkRequest.cover_url"), // the document has no pattern for addresses in answers
			read: func(text string) (string, bool) {
				var p validate.Problems
				stored := p.URL("url", &text)
				return value(stored), !p.Any()
			},
		},
		"slug": {
			texts: rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{1,84}`), rapid.StringMatching(`[a-z]{1,40}(-[a-z0-9]{1,20}){0,3}`),
				rapid.StringMatching(`[A-Za-z0-9ÄéßI -]{1,5}`)),
			sent: answered(t, "Product", "slug"), kept: answered(t, "Store", "slug"), all: true,
			read: func(text string) (string, bool) {
				var p validate.Problems
				return p.Slug("slug", text, validate.MaxSlugBytes), !p.Any() || len(text) > validate.MaxSlugBytes
			},
		},
		"title": {
			texts: rapid.String(), sent: regexp.MustCompile(""), kept: regexp.MustCompile("^$|" + answered(t, "Product", "slug").String()),
			read: func(text string) (string, bool) { return validate.SlugOf(text), true },
		},
		"currency": {
			texts: rapid.OneOf(rapid.StringMatching(`[A-Z]{2,4}`), rapid.SampledFrom([]string{"EUR", "XAF", "SLE", "eur"})),
			sent:  answered(t, "Store", "currency"), kept: answered(t, "Order", "currency"),
			read: func(text string) (string, bool) { return text, validate.IsCurrency(text) },
		},
	} {
		rapid.Check(t, func(t *rapid.T) {
			text := row.texts.Draw(t, "text")
			stored, ok := row.read(text)
			if row.all {
				require.Equal(t, ok, row.sent.MatchString(text), "%s %q", name, text)
			}
			if !ok {
				return
			}
			taken[name]++
			require.Regexp(t, row.sent, text, "%s %q", name, text)
			require.Regexp(t, row.kept, stored, "%s %q is stored as %q", name, text, stored)
			again, ok := row.read(stored)
			require.True(t, ok, "%s %q is stored as %q", name, text, stored)
			require.Equal(t, stored, again, "%s %q", name, text)
		})
		require.Positive(t, taken[name], "%s: some of the texts are of its form", name)
	}
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func TestThePatternOfEmailsRefusesSpacesAndMarks(t *testing.T) {
	t.Parallel()
	pattern := sent(t, "storefront.v1.CreateCustomerRequest.email")
	for _, r := range "\u00a0\u00ad\u2003\u200b\u200d\u202c\u2028\u202f\u2060\u2066\u3000\ufeff" {
		for _, text := range []string{"an" + string(r) + "n@example.com", "ann@exam" + string(r) + "ple.com", "ann@example.co" + string(r) + "m"} {
			require.NotRegexp(t, pattern, text, "%q", text)
			_, ok := validate.Email(text)
			require.False(t, ok, "%q", text)
		}
		email, ok := validate.Email(string(r) + "Ann@Example.com" + string(r))
		require.True(t, ok, "%q", r)
		require.Equal(t, "ann@example.com", email)
	}
}
