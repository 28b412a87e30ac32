package importfile

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// yes and no report whether a text says so.
func yes(text string) bool {
	return slices.Contains([]string{"1", "true", "yes", "y"}, strings.ToLower(text))
}

func no(text string) bool {
	return slices.Contains([]string{"0", "false", "no", "n"}, strings.ToLower(text))
}

// harmless are texts that begin like a formula and compute nothing: phone numbers and negative numbers.
var harmless = regexp.MustCompile(`^\+[0-9][0-9 ().-]*$|^-[0-9]+([.,][0-9]+)?$`)

// isFormula reports whether a spreadsheet may calculate a text: one that begins with =, +, - or @, in full width too, as
// Japanese and Chinese ones read them, or with white space that some drop first (OWASP, CSV Injection).
func isFormula(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) && !harmless.MatchString(text)
}

// EscapeCell returns a text for a cell of a CSV file that people open in a spreadsheet, which would calculate one that
// begins like a formula: an apostrophe before it keeps it a text. UnescapeCell takes the apostrophe off again. A text that
// has such an apostrophe itself gets another one, so that it is the same text again afterwards.
func EscapeCell(text string) string {
	if isFormula(text) || UnescapeCell(text) != text {
		return "'" + text
	}
	return text
}

// UnescapeCell leaves out the apostrophe by which EscapeCell, and people before numbers, keep a cell a text. The one of a
// title such as '90s Hits belongs to the title.
func UnescapeCell(cell string) string {
	text, marked := strings.CutPrefix(cell, "'")
	inner := strings.TrimLeft(text, "'")
	if marked && (isFormula(inner) || inner != "" && strings.Trim(inner, "+0123456789 ().,/-") == "") {
		return text
	}
	return cell
}
