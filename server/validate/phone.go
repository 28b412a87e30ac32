package validate

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/server/apierr"
)

// float matches a number to which a spreadsheet or a program has added a fraction, such as 237670000001.0.
var float = regexp.MustCompile(`^(\+?\d+)[.,]0+$`)

// Phone reads a phone number and returns it in E.164 form (ITU-T E.164). A number in international form begins with + or
// with the country's prefix for calls abroad. For such a number, Phone checks only that its length is possible. Any other
// number must be a valid number of the country. country is a text that the function Country reads; if it is empty, Phone
// reads only the international form.
//
// Phone removes marks of direction, and a fraction such as .0. A text with letters, such as "0612345678 mobile", is no phone
// number.
func Phone(text, country string) (number string, ok bool) {
	text = invisible.TrimPhone(text)
	if match := float.FindStringSubmatch(text); match != nil {
		text = match[1]
	}
	// Refuse letters and line breaks here, because the library would accept them: it reads a letter as a key of a phone or as
	// the end of the number, and ignores a line break.
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsControl(r) }) {
		return "", false
	}
	// The library should remove text after a number, but its pattern is in Java's syntax and matches nothing in Go. So
	// remove it here.
	text = strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsNumber(r) && r != '#' })
	region, _ := Country(country)
	read, err := phonenumbers.ParseAndKeepRawInput(text, region)
	if err != nil || read.GetExtension() != "" {
		return "", false
	}
	switch read.GetCountryCodeSource() {
	case phonenumbers.PhoneNumber_FROM_NUMBER_WITH_PLUS_SIGN, phonenumbers.PhoneNumber_FROM_NUMBER_WITH_IDD:
		ok = phonenumbers.IsPossibleNumber(read)
	default:
		ok = phonenumbers.IsValidNumber(read)
	}
	return phonenumbers.Format(read, phonenumbers.E164), ok
}

// Phone refuses a text that the function Phone does not read as a number of the country, and returns the number in E.164 form.
func (p *Problems) Phone(field, value, country string) *string {
	number, ok := Phone(value, country)
	if !ok {
		p.Add(apierr.PhoneInvalid, field, "must be a number in international form such as +237670000001, or a valid one of the "+
			"store's country")
		return nil
	}
	return &number
}
