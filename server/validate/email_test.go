package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
