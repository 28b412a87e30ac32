package validate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bojanz/currency"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/width"
)

// These are the bounds of amounts and percentages that the protos declare for requests. Imports and orders use them too.
var (
	FeeBound     = MustBound("storefront.admin.v1.CreateStoreRequest.platform_fee_percent")
	PriceBound   = MustBound("storefront.v1.UpdateProductRequest.price_amount")
	PaymentBound = MustBound("storefront.admin.v1.CreateOrderRequest.amount")
)

// MaxAmount is the largest amount, 2^53-1: the largest integer that a JavaScript client reads exactly (ECMA-262,
// Number.MAX_SAFE_INTEGER).
const MaxAmount = 1<<53 - 1

// Amount refuses an amount of money that is out of bounds.
func (p *Problems) Amount(field string, value *int64, b Bound) {
	if value != nil && (*value < b.Min || *value > b.Max) {
		p.Invalid(field, fmt.Sprintf("must be a whole number of minor units from %d to %d", b.Min, b.Max))
	}
}

// Percentage refuses a percentage that is out of bounds.
func (p *Problems) Percentage(field string, value float64, b Bound) {
	if !(value >= float64(b.Min) && value <= float64(b.Max)) {
		p.Invalid(field, fmt.Sprintf("must be a percentage from %d to %d", b.Min, b.Max))
	}
}

// These errors say why ParseAmount cannot read an amount.
var (
	// ErrAmount means that a text is not an amount.
	ErrAmount = errors.New("must be an amount such as 12.50, from 0 up")
	// ErrOtherCurrency means that an amount names another currency.
	ErrOtherCurrency = errors.New("is in another currency than the store's")
	// ErrAmbiguous means that a text has two meanings, such as 1,234.
	ErrAmbiguous = errors.New("can be read in two ways: write it with a decimal point and no other separator")
)

// decimal matches a number in digits, with or without a decimal point.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// ParseDecimal reads a number such as 15.50 as minor units of a currency. It refuses more decimals than the currency has,
// unless the additional ones are zeros.
func ParseDecimal(text, code string) (minor int64, err error) {
	amount, err := currency.NewAmount(text, currentCode(code))
	if err != nil || !decimal.MatchString(text) {
		return 0, ErrAmount
	}
	if !amount.Round().Equal(amount) {
		if Decimals(code) == 0 {
			return 0, fmt.Errorf("must be without decimals, as %s has none", code)
		}
		return 0, fmt.Errorf("must have at most %d decimals, as %s has", Decimals(code), code)
	}
	if minor, err = amount.Int64(); err != nil || minor > MaxAmount {
		return 0, fmt.Errorf("must be at most %s", FormatAmount(MaxAmount, code))
	}
	return minor, nil
}

var (
	removeInvisible = runes.Remove(runes.In(unicode.Cf))
	// plainCharacters replaces characters that people write in numbers: digits of other scripts by 0 to 9, all spaces by a plain
	// space, and ’ by '.
	plainCharacters = runes.Map(func(r rune) rune {
		for _, zero := range "٠۰०০၀" {
			if zero <= r && r < zero+10 {
				return '0' + r - zero
			}
		}
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '’':
			return '\''
		}
		return r
	})

	// thousands matches a number with commas between groups of three digits. lakhs matches a number with groups as in India,
	// such as 1,23,456.
	thousands = regexp.MustCompile(`^[1-9]\d{0,2}(,\d{3})+$`)
	lakhs     = regexp.MustCompile(`^[1-9]\d?(,\d{2})+,\d{3}$`)
	// noFraction matches what people write after a whole amount for "no decimals": 99,- and 99. and, in India and East
	// Africa, 99/- and 99/=.
	noFraction = regexp.MustCompile(`^(?:([.,])(?: ?[-‒–—−]{1,2})?|/[-=])`)
)

// grouped removes the separators between the groups of a whole number. It returns the digits and the separator, which may be
// a space, an apostrophe, a point or a comma. ok is false if the groups are wrong.
func grouped(number string) (digits string, separator rune, ok bool) {
	for _, separator = range " '.٬," {
		if !strings.ContainsRune(number, separator) {
			continue
		}
		commas := strings.ReplaceAll(number, string(separator), ",")
		return strings.ReplaceAll(commas, ",", ""), separator,
			strings.Count(commas, ",") == strings.Count(number, string(separator)) && (thousands.MatchString(commas) ||
				separator == ',' && lakhs.MatchString(commas))
	}
	return number, 0, number != "" && strings.Trim(number, "0123456789") == ""
}

// ParseAmount reads an amount as minor units of a currency. It accepts what people, shops and spreadsheets write, such as
// 12.50, 12,50, $1,234.50, 1.234,50 €, ₹1,23,456.00, Rs. 500, 99,- or 1,234円. In a currency without decimals, 2.500 is 2500.
//
// It refuses a text with two meanings, such as 1,234 in a currency with two decimals; a text with another currency or other
// words; and more decimals than the currency has, unless the additional ones are zeros.
func ParseAmount(text, code string) (minor int64, err error) {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		text, _, _ = transform.String(transform.Chain(width.Narrow, removeInvisible, plainCharacters), text)
	}
	first, last := strings.IndexAny(text, "0123456789"), strings.LastIndexAny(text, "0123456789")
	if first < 0 {
		return 0, ErrAmount
	}
	before, number, after := text[:first], text[first:last+1], text[last+1:]
	if short := strings.TrimRight(before, ".,٫"); short != before {
		letter, _ := utf8.DecodeLastRuneInString(short)
		switch {
		case !unicode.IsLetter(letter): // .50
			before, number = short, "0"+before[len(short):]+number
		case len(number) <= Decimals(code): // Rs.50 may be 50 rupees, or half a rupee
			return 0, ErrAmbiguous
		}
	}
	if none := noFraction.FindStringSubmatch(after); none != nil {
		after = after[len(none[0]):]
		if digits, _, whole := grouped(number); none[1] == "" && whole {
			number = digits
		} else if none[1] != "" {
			number += none[1] + "0"
		}
	}
	for _, affix := range []string{before, after} {
		if err := inCurrency(affix, code); err != nil {
			return 0, err
		}
	}
	digits, _, whole := grouped(number)
	point := strings.LastIndexAny(number, ".,٫")
	if point < 0 {
		if !whole {
			return 0, ErrAmount
		}
		return ParseDecimal(digits, code)
	}
	mark, size := utf8.DecodeRuneInString(number[point:])
	units, separator, ok := grouped(number[:point])
	fraction := number[point+size:]
	ok = ok && (separator != mark || units == number[:point])
	switch places := Decimals(code); {
	case whole && (!ok || places == 0):
		return ParseDecimal(digits, code)
	case !ok:
		return 0, ErrAmount
	case whole && (places != 3 || mark == ','): // 1.234 has one meaning if the currency has three decimals
		return 0, ErrAmbiguous
	}
	return ParseDecimal(units+"."+fraction, code)
}

// inCurrency returns an error unless the text around an amount's digits is a name or sign of the currency.
func inCurrency(affix, code string) error {
	parts := append(strings.Fields(affix), affix)
	matches := func(sign string) bool {
		key := signKey(sign)
		return key == "" || key == code || slices.Contains(signs()[key], code)
	}
	strange := func(sign string) bool { return !matches(sign) }
	if matches(affix) || !slices.ContainsFunc(parts[:len(parts)-1], strange) { // each sign counts by itself, as in US $
		return nil
	}
	for _, part := range parts {
		if len(signs()[signKey(part)]) > 0 && strange(part) || strings.ContainsFunc(part, func(r rune) bool { return unicode.Is(unicode.Sc, r) }) {
			return ErrOtherCurrency
		}
	}
	return ErrAmount
}
