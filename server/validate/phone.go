package validate

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"go.storefront.example/ent/mark"
	"go.storefront.example/server/apierr"
)

// float is a number to which a spreadsheet or a program gave decimals.
var float = regexp.MustCompile(`^(\+?\d+)[.,]0+$`)

// Phone reads a phone number and returns it in E.164 form (ITU-T E.164). A number in international form, which begins
// with + or the country's prefix for calls abroad, must be a possible one; any other is read as a number of the
// country, a two-letter code or any text that Country reads, and must be valid there. Without a country only the
// international form is read. Marks of direction and the .0 of a float are dropped; a text with letters, such as
// "0612345678 mobile", is not a number.
func Phone(text, country string) (number string, ok bool) {
	text = mark.TrimPhone(text)
	if whole := float.FindStringSubmatch(text); whole != nil {
		text = whole[1]
	}
	// The library would read letters as the digits of a keypad or as the end of the number, and drop a line's end.
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsControl(r) }) {
		return "", false
	}
	// Its own pattern for what follows a number is in Java's syntax, which finds nothing in Go.
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

// Phone refuses what Phone does not read as a number of the country, and returns the number in E.164 form.
func (p *Problems) Phone(field, value, country string) *string {
	number, ok := Phone(value, country)
	if !ok {
		p.Add(apierr.PhoneInvalid, field, "must be a number in international form such as +237670000001, or a valid one of the "+
			"store's country")
		return nil
	}
	return &number
}
