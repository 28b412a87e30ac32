// Package invisible drops the spaces and invisible characters that come along when a text is copied from a page, a contact or a
// spreadsheet. It imports nothing of the project.
package invisible

import (
	"strings"
	"unicode"
)

// Is reports whether a character is white space or a format character of Unicode (White_Space, general category Cf),
// such as U+200B, U+FEFF and the marks of direction. Only two control characters, tab and line end, count as white space,
// because texts may contain no others.
func Is(r rune) bool {
	if unicode.IsControl(r) {
		return r == '\t' || r == '\n'
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

// Trim drops the spaces and invisible characters at both ends of a text.
func Trim(text string) string { return strings.TrimFunc(text, Is) }

// lineEnds are the characters that end a line: in a mail's header, in a terminal, or in a program that splits a text.
const lineEnds = "\n\r\u0085\u2028\u2029"

// IsLineEnd reports whether a character ends a line.
func IsLineEnd(r rune) bool { return strings.ContainsRune(lineEnds, r) }

// HasLineEnd reports whether a text has a line end.
func HasLineEnd(text string) bool { return strings.ContainsAny(text, lineEnds) }

// OneLine writes a space in place of the line ends of a text, and drops those at its ends.
func OneLine(text string) string {
	if !HasLineEnd(text) {
		return text
	}
	return strings.Join(strings.FieldsFunc(text, IsLineEnd), " ")
}

// Contains reports whether a text has a space or an invisible character anywhere.
func Contains(text string) bool { return strings.ContainsFunc(text, Is) }

// TrimPhone drops characters that contacts or spreadsheets add to a phone number: format characters and variation selectors
// anywhere, spaces and ";" at both ends. Wide and narrow spaces become U+0020.
func TrimPhone(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
			return -1
		case unicode.IsSpace(r) && !unicode.IsControl(r):
			return ' '
		}
		return r
	}, text), " \t\n;")
}
