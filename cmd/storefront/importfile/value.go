package importfile

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// isYes and isNo also read the words of spreadsheets in other languages.
func isYes(text string) bool {
	return slices.Contains([]string{"1", "true", "yes", "y", "vrai", "oui", "wahr", "ja", "verdadero", "si", "verdadeiro", "sim"}, normalize(text))
}

func isNo(text string) bool {
	return slices.Contains([]string{"0", "false", "no", "n", "faux", "non", "falsch", "nein", "falso", "nao"}, normalize(text))
}

// harmless matches phone numbers and negative numbers, which begin like a formula.
var harmless = regexp.MustCompile(`^\+[0-9][0-9 ().-]*$|^-[0-9]+([.,][0-9]+)?$`)

// isFormula reports whether a spreadsheet may evaluate a text (OWASP, CSV Injection): it begins with =, +, - or @, also in full
// width, or with a tab or a line end, which some drop. Texts that harmless matches are none.
func isFormula(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) && !harmless.MatchString(text)
}

// EscapeCell puts an apostrophe before a text that begins like a formula, so that a spreadsheet does not evaluate it, or with
// such an apostrophe.
func EscapeCell(text string) string {
	if isFormula(text) || UnescapeCell(text) != text {
		return "'" + text
	}
	return text
}

// UnescapeCell removes the apostrophe of EscapeCell, or of a person before a number. It keeps that of a title such as '90s Hits.
func UnescapeCell(cell string) string {
	text, marked := strings.CutPrefix(cell, "'")
	inner := strings.TrimLeft(text, "'")
	if marked && (isFormula(inner) || inner != "" && strings.Trim(inner, "+0123456789 ().,/-") == "") {
		return text
	}
	return cell
}
