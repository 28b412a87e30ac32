package validate

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"go.storefront.example/ent/mark"
	"go.storefront.example/server/apierr"
)

// float matches a number to which a spreadsheet or a program has added decimals.
var float = regexp.MustCompile(`^(\+?\d+)[.,]0+$`)

// Phone reads a phone number and returns it in E.164 form (ITU-T E.164). A number in international form begins with + or the
// country's prefix for calls abroad, and only has to be possible. Any other number must be valid in the country, a text that
// the function Country reads; if the country is empty, Phone reads only the international form. Phone drops marks of direction
// and the .0 of a float. A text with letters, such as "0612345678 mobile", is not a number.
func Phone(text, country string) (number string, ok bool) {
	text = mark.TrimPhone(text)
	if whole := float.FindStringSubmatch(text); whole != nil {
		text = whole[1]
	}
	// Refused here, because the library would read letters as digits of a keypad or as the number's end, and drop a line's end.
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsControl(r) }) {
		return "", false
	}
	// Cut here, because the library's own pattern for text after a number is in Java's syntax and matches nothing in Go.
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
