package resource

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"go.storefront.example/ent/invisible"
)

// separator separates the parts of a customer's search text. A search cannot match across two parts, because control characters
// are refused in clients' texts.
const separator = "\x1f"

// FoldCase converts text to the form that a search compares: NFC, then full Unicode case folding
// (Unicode Standard, section 3.13), so that "STRASSE" finds "Straße" on both databases. The dotless i and the i
// with a combining dot, to which İ folds, become i, because Turkish writes I and İ where other languages write I.
func FoldCase(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 {
			folded := cases.Fold().String(norm.NFC.String(text))
			return strings.ReplaceAll(strings.ReplaceAll(folded, "ı", "i"), "i\u0307", "i")
		}
	}
	return strings.ToLower(text)
}

// CustomerSearch returns a customer's search text, with which searches for customers compare: the folded name, e-mail and
// phone.
func CustomerSearch(name string, email, phone *string) string {
	var b strings.Builder
	b.WriteString(FoldCase(name))
	b.WriteString(separator)
	if email != nil {
		b.WriteString(FoldCase(*email))
	}
	b.WriteString(separator)
	if phone != nil {
		b.WriteString(*phone)
	}
	return b.String()
}

// phoneDigits returns the digits of a text that has only digits and separators of phone numbers, such as "+237 6 99". ok is
// false for any other text, and for a text of digits only.
func phoneDigits(text string) (found string, ok bool) {
	digits := make([]byte, 0, len(text))
	for _, r := range norm.NFKC.String(invisible.TrimPhone(text)) {
		switch {
		case '0' <= r && r <= '9':
			digits = append(digits, byte(r))
		case !unicode.IsSpace(r) && !unicode.Is(unicode.Pd, r) && !strings.ContainsRune("+()./\u2212", r):
			return "", false
		}
	}
	if len(digits) == 0 || string(digits) == text {
		return "", false
	}
	return string(digits), true
}

// phonePattern returns the LIKE pattern that matches a customer's search text if the phone in it contains the digits. A
// search text is the name, the e-mail and the phone, with a separator between two of them.
func phonePattern(digits string) string {
	return "%" + separator + "%" + separator + "%" + digits + "%"
}

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// textPattern returns the LIKE pattern, with \ as its escape, for texts that contain this text. It folds the text before it
// escapes wildcard characters, because folding may produce some.
func textPattern(text string) string {
	return "%" + likeEscapes.Replace(FoldCase(text)) + "%"
}
