package importfile_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/cmd/storefront/importfile"
)

func TestACellIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	const begins = "=+-@\t\r\n＝＋－＠"
	for text, cell := range map[string]string{
		"": "", "Tea": "Tea", "=1+1": "'=1+1", "＝1+1": "'＝1+1", "＋1": "'＋1", "－1": "'－1", "＠SUM(1)": "'＠SUM(1)",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "-5": "-5", "+237 670 000 001": "+237 670 000 001", "-": "'-", "'": "'",
		"'90s Hits": "'90s Hits", "'90": "''90", "'=1": "''=1", "''=1": "'''=1", "''": "''",
	} {
		require.Equal(t, cell, importfile.EscapeCell(text))
	}
	for _, cell := range []string{"'0612", "'+237 670"} { // people write ' before a number that a spreadsheet must not change
		require.Equal(t, cell[1:], importfile.UnescapeCell(cell))
	}
	texts := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune(begins+"'0123(),. ")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		cell := importfile.EscapeCell(text)
		if again := importfile.UnescapeCell(cell); again != text {
			t.Fatalf("%q is %q in a cell, which is read as %q", text, cell, again)
		}
		first, _ := utf8.DecodeRuneInString(cell)
		if cell != "" && strings.ContainsRune(begins, first) && strings.Trim(cell, "+-0123456789 ().,") != "" {
			t.Fatalf("%q is calculated", cell)
		}
	})
}
