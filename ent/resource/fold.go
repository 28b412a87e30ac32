package resource

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// separator stands between the parts of a customer's search text. No text of a client holds it,
// since control characters are refused, so a search cannot match across two parts.
const separator = "\x1f"

// Fold brings text into the form that a search compares: NFC, then full Unicode case folding
// (Unicode Standard, section 3.13), so that "STRASSE" finds "Straße" on both databases alike.
func Fold(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return cases.Fold().String(norm.NFC.String(text))
		}
	}
	return strings.ToLower(text)
}

// CustomerSearch is the text that a search for a customer looks in.
func CustomerSearch(name string, email, phone *string) string {
	var b strings.Builder
	b.WriteString(Fold(name))
	b.WriteString(separator)
	if email != nil {
		b.WriteString(Fold(*email))
	}
	b.WriteString(separator)
	if phone != nil {
		b.WriteString(*phone)
	}
	return b.String()
}

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// contains is the LIKE pattern, with \ as its escape, that finds the text anywhere. Folding
// comes first: it may make a wildcard out of a character that was none.
func contains(text string) string {
	return "%" + likeEscapes.Replace(Fold(text)) + "%"
}
