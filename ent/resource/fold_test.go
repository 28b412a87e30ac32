package resource

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFoldMakesTheSameOfWhatReadersTakeForTheSame(t *testing.T) {
	t.Parallel()
	rows := []struct{ reason, a, b string }{
		{"ASCII case", "Guide", "gUIDE"},
		{"full folding lengthens", "STRASSE", "Straße"},
		{"capital sharp s", "ẞ", "ss"},
		{"a composed and a decomposed accent", "caf\u00e9", "cafe\u0301"},
		{"Greek final sigma", "ΟΔΟΣ", "οδος"},
		{"Cyrillic", "ПРИВЕТ", "привет"},
		{"the Kelvin sign is a k", "\u212A", "k"},
		{"Turkish İ", "İstanbul", "istanbul"},
		{"Turkish İ, decomposed", "I\u0307stanbul", "ISTANBUL"},
		{"Turkish ı", "IŞIK", "ışık"},
		{"Turkish ı without a Turkish keyboard", "IŞIK", "işik"},
		{"both", "ıI\u0307iİ", "IIII"},
	}
	for _, row := range rows {
		require.Equal(t, FoldCase(row.a), FoldCase(row.b), row.reason)
	}
	require.NotEqual(t, FoldCase("％"), FoldCase("%"), "a full-width sign is not the plain one")
}

func TestContainsTakesTextLiterally(t *testing.T) {
	t.Parallel()
	require.Equal(t, `%100\%\_a\\b%`, textPattern(`100%_A\b`))
}

// FoldCase handles ASCII texts separately. The fold of an ASCII text is still found in the fold of a longer text that is not
// ASCII.
func TestFoldOfAnyPartOfAsciiTextIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~]{1,40}`).Draw(t, "text")
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(text)).Draw(t, "to")
		require.True(t, strings.Contains(FoldCase(text+"é"), FoldCase(text[from:to])))
	})
}

func TestCustomerSearchCannotMatchAcrossItsParts(t *testing.T) {
	t.Parallel()
	email, phone := "B@example.com", "+237670000001"
	text := CustomerSearch("Ada", &email, &phone)
	for _, q := range []string{"ada", "b@EXAMPLE", "7670"} {
		require.Contains(t, text, FoldCase(q))
	}
	require.NotContains(t, text, "adab@")
	require.Equal(t, "\x1f\x1f", CustomerSearch("", nil, nil))
}
