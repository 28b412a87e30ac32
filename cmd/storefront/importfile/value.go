package importfile

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// isYes reports whether a text means yes; isNo reports whether it means no. Spreadsheets write true and false in their language.
func isYes(text string) bool {
	return slices.Contains([]string{"1", "true", "yes", "y", "vrai", "oui", "wahr", "ja", "verdadero", "si", "verdadeiro", "sim"}, normalize(text))
}

func isNo(text string) bool {
	return slices.Contains([]string{"0", "false", "no", "n", "faux", "non", "falsch", "nein", "falso", "nao"}, normalize(text))
}

// harmless matches texts that begin like a formula but compute nothing: phone numbers and negative numbers.
var harmless = regexp.MustCompile(`^\+[0-9][0-9 ().-]*$|^-[0-9]+([.,][0-9]+)?$`)

// isFormula reports whether a spreadsheet may evaluate a text as a formula (OWASP, CSV Injection). Such a text begins with
// =, +, - or @, or with one of these signs in full width, as in Japanese and Chinese spreadsheets. It may also begin with a tab
// or a line end, because some spreadsheets drop these characters. Texts that harmless matches are no formulas.
func isFormula(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) && !harmless.MatchString(text)
}

// EscapeCell returns a text for a cell of a CSV file that people open in a spreadsheet. It puts an apostrophe before a text
// that begins like a formula, so that the spreadsheet does not evaluate it; UnescapeCell removes the apostrophe. A text that
// itself begins with such an apostrophe gets another one, so that UnescapeCell restores it.
func EscapeCell(text string) string {
	if isFormula(text) || UnescapeCell(text) != text {
		return "'" + text
	}
	return text
}

// UnescapeCell returns a cell without the apostrophe at its beginning, if EscapeCell added it, or a person did to keep a
// number unchanged. It keeps the apostrophe of a title such as '90s Hits.
func UnescapeCell(cell string) string {
	text, marked := strings.CutPrefix(cell, "'")
	inner := strings.TrimLeft(text, "'")
	if marked && (isFormula(inner) || inner != "" && strings.Trim(inner, "+0123456789 ().,/-") == "") {
		return text
	}
	return cell
}
