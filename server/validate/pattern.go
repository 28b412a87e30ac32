package validate

import (
	"fmt"
	"strings"
	"unicode"

	"go.storefront.example/ent/invisible"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Pattern returns the regular expression that the document shows for the texts of a form in requests. It matches every text
// that the service accepts. required means that the text must not be empty.
func Pattern(form storefrontv1.TextForm, required bool) string {
	around := "[" + class(invisible.Is) + "]*"
	switch form {
	case storefrontv1.TextForm_LINE:
		part := "[^" + class(notInLine) + "]*"
		if required {
			return "^" + part + "[^" + class(isBlank) + "]" + part + "$"
		}
		return "^" + part + "$"
	case storefrontv1.TextForm_PHONE:
		part := "[^" + class(notInPhone) + "]*"
		return "^" + part + "[^" + class(func(r rune) bool { return r == ' ' || notInPhone(r) || unicode.IsControl(r) }) + "]" + part + "$"
	case storefrontv1.TextForm_EMAIL:
		quoted := "[^" + class(func(r rune) bool { return r != ' ' && hidden(r) }) + "]+"
		part := "[^@" + class(hidden) + "]+"
		return "^" + around + `("` + quoted + `"|` + part + ")@" + part + `[.` + dots + "]" + part + around + "$"
	case storefrontv1.TextForm_WEB_ADDRESS:
		return "^" + around + "([Hh][Tt][Tt][Pp][Ss]?://[^" + class(isBlank) + "]+)?" + around + "$"
	case storefrontv1.TextForm_SLUG:
		return SlugPattern
	}
	return "^[^" + class(notInText) + "]*$"
}

// dots are the characters besides the full stop that end a label of a domain (UTS 46).
const dots = "\u3002\uff0e\uff61"

func notInLine(r rune) bool { return notInText(r) || invisible.IsLineEnd(r) }

// notInPhone reports whether the pattern of phone numbers excludes a character. Phone refuses other letters too.
func notInPhone(r rune) bool { return notInText(r) || r <= unicode.MaxASCII && unicode.IsLetter(r) }

func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// hidden reports whether an e-mail address cannot have a character outside quotes.
func hidden(r rune) bool { return unicode.IsControl(r) || invisible.Is(r) }

// class returns what stands between the brackets of a character class that has the characters for which is holds, of the Basic
// Multilingual Plane. RE2 and ECMA-262 read it alike.
func class(is func(rune) bool) string {
	var b strings.Builder
	write := func(r rune) {
		switch {
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02X`, r)
		default:
			b.WriteRune(r)
		}
	}
	for first := rune(0); first <= 0xffff; first++ {
		if !is(first) {
			continue
		}
		last := first
		for is(last+1) && last < 0xffff && unicode.IsControl(last+1) == unicode.IsControl(first) {
			last++
		}
		write(first)
		if last > first+1 {
			b.WriteByte('-')
		}
		if last > first {
			write(last)
		}
		first = last
	}
	return b.String()
}
