package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/idna"
	"pgregory.net/rapid"

	"go.storefront.example/server/validate"
)

func TestEmails(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, want, because string }{
		{"Ann@Example.com", "ann@example.com", "lower case"},
		{"ann@example.com\u200b", "ann@example.com", "a space without width at the end"},
		{"\ufeffann@example.com", "ann@example.com", "a byte order mark at the beginning"},
		{"\u202aann@example.com\u202c", "ann@example.com", "marks of direction"},
		{"\u3000ann@example.com\u00a0\n", "ann@example.com", "spaces"},
		{"ann@BÜCHER.example", "ann@bücher.example", "a domain in Unicode"},
		{"ann@xn--bcher-kva.example", "ann@bücher.example", "the same domain in ASCII"},
		{"ann@ｅｘａｍｐｌｅ。com", "ann@example.com", "full-width letters and dots"},
		{"ann@stra\u00dfe.example", "ann@straße.example", "a letter of today's IDNA"},
		{"\"Ann\"@example.com", "ann@example.com", "quotes that nothing needs"},
		{"\"Ann Lee\"@example.com", "\"ann lee\"@example.com", "quotes that a space needs"},
		{"İan@example.com", "i̇an@example.com", "the full mapping to lower case"},
		{strings.Repeat("a", 242) + "@example.com", strings.Repeat("a", 242) + "@example.com", "254 characters"},

		{strings.Repeat("a", 243) + "@example.com", "", "255 characters"},
		{"an\u200bn@example.com", "", "a mark inside"},
		{"ann@exam\u00adple.com", "", "a soft hyphen, which IDNA would drop"},
		{"ann\u2003lee@example.com", "", "a space of typography"},
		{"\"ann\u2003lee\"@example.com", "", "between quotes"},
		{"ann lee@example.com", "", "a plain space without quotes"},
		{"ann@example", "", "a domain without a dot"},
		{"ann@example.com.", "", "a dot at its end"},
		{"ann@-example.com", "", "a hyphen at a label's end"},
		{"ann@exa_mple.com", "", "what no host's name has"},
		{"ann@xn--a.example", "", "ASCII of no name in Unicode"},
		{"ann@" + strings.Repeat("a", 64) + ".com", "", "a label of 64 letters"},
		{"ann@[127.0.0.1]", "", "a literal"},
		{"Ann <ann@example.com>", "", "a display name"},
		{"ann(x)@example.com", "", "a comment"},
		{"ann@example.com, bob@example.com", "", "two"},
		{"ann\x00@example.com", "", "a control character"},
		{"ann\xff@example.com", "", "bytes that are not UTF-8"},
		{"@example.com", "", "no local part"},
		{"", "", "nothing"},
	} {
		email, ok := validate.Email(row.text)
		require.Equal(t, row.want != "", ok, "%q: %s", row.text, row.because)
		if ok {
			require.Equal(t, row.want, email, row.because)
		}
		var p validate.Problems
		stored := p.Email("email", row.text)
		require.Equal(t, ok, stored != nil, "%q", row.text)
		require.Equal(t, ok, !p.Any(), "%q", row.text)
	}
}

// An address is accepted again in the form in which it is stored, also the domains that IDNA's versions read in two ways: with
// ß and ς, and with joiners, which are invisible.
func TestStoredEmailsAreAcceptedAgain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a@xn--mgba3gch31f060k.example":           "a@xn--mgba3gch31f060k.example",
		"a@XN--MGBA3GCH31F060K.xn--bcher-kva.com": "a@xn--mgba3gch31f060k.xn--bcher-kva.com",
		"a@xn--10cl1a0b660p.example":              "a@xn--10cl1a0b660p.example", // a joiner of Sinhala
		"a@xn--fa-hia.example":                    "a@faß.example",
		"a@xn--4xa.example":                       "a@σ.example",
		"a@xn--3xa.example":                       "a@ς.example",
		"a@نامه\u200cای.example":                  "",
	} {
		email, ok := validate.Email(text)
		require.Equal(t, want != "", ok, text)
		require.Equal(t, want, email)
	}
	labels := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("aßςσ\u200c\u200dنامهایක්ෂ1-ıİéﬀ٣")), 1, 8, -1),
		rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune("aßς\u200c\u200dنامهایක්ෂश्री1é")), 1, 8, -1), func(label string) string {
			ascii, _ := idna.Punycode.ToASCII(label)
			return ascii
		}))
	pattern := sent(t, "storefront.v1.CreateCustomerRequest.email")
	rapid.Check(t, func(t *rapid.T) {
		email, ok := validate.Email("a@" + strings.Join(rapid.SliceOfN(labels, 1, 3).Draw(t, "labels"), ".") + ".com")
		if !ok {
			return
		}
		again, ok := validate.Email(email)
		require.True(t, ok, "%q", email)
		require.Equal(t, email, again)
		require.Regexp(t, pattern, again)
	})
}

// An address of forgotten customers is no caller's, whatever its spelling.
func TestTheDomainOfForgottenCustomersIsRefused(t *testing.T) {
	t.Parallel()
	for _, domain := range []string{"forgotten.invalid", "Forgotten.INVALID", "a.forgotten.invalid", "a.b.forgotten.invalid",
		"ｆｏｒｇｏｔｔｅｎ.invalid", "forgotten。invalid", "forgotten．ｉｎｖａｌｉｄ", "forgotten.invalid.", "ⓕorgotten.invalid", "forgotten.invalid\u200b",
		"forgott\u00aden.invalid", "xn--bcher-kva.forgotten.invalid"} {
		_, ok := validate.Email("7f0c5f5e-6a7e-4f0e-9a43-0f1d6a1f2b3c@" + domain)
		require.False(t, ok, domain)
		var p validate.Problems
		require.Nil(t, p.Email("email", "a@"+domain))
		require.True(t, p.Refused("email"), domain)
		var contact validate.Problems
		contact.Contact("supportEmail", "a@"+domain)
		require.True(t, contact.Refused("supportEmail"), domain)
	}
	for _, domain := range []string{"notforgotten.invalid", "forgotten.invalid.example", "invalid.example"} {
		_, ok := validate.Email("a@" + domain)
		require.True(t, ok, domain)
	}
	found, ok := validate.Address("A@Forgotten.invalid")
	require.True(t, ok, "the operator finds a forgotten customer by the address that lists show")
	require.Equal(t, "a@forgotten.invalid", found)
}
