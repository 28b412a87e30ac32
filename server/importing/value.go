package importing

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"

	"go.storefront.example/server/validate"
)

// inCurrency returns an error unless what stands around an amount's digits can mean a currency.
func inCurrency(around, of string) error {
	words := known().Currencies[of]
	var letters strings.Builder
	signed := false
	for _, r := range around {
		if unicode.Is(unicode.Sc, r) {
			signed = true
			unit, _ := currency.ParseISO(of)
			if !strings.ContainsRune(fmt.Sprint(currency.NarrowSymbol(unit)), r) && !slices.Contains(words, string(r)) {
				return errCurrency
			}
		} else if unicode.IsLetter(r) {
			letters.WriteRune(r)
		}
	}
	text := letters.String()
	upper := strings.ToUpper(text)
	_, unknown := currency.ParseISO(text)
	switch {
	case text == "" || upper == of || slices.Contains(words, upper) || signed && strings.HasPrefix(of, upper): // US$
		return nil
	case signed || unknown == nil && text == upper:
		return errCurrency
	}
	return errAmount
}

// minorOf reads an amount such as 12.50, 12,50, $1,234.50 or 1.234,50 as minor units of a currency. It refuses
// more decimals than the currency has, unless they are zeros, a text that can be read in two ways, and one
// that names another currency or anything else. In a currency without decimals, 2.500 is 2500.
func minorOf(text, of string) (int64, error) {
	decimals := validate.Decimals(of)
	digits := strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsSpace(r) || unicode.Is(unicode.Sc, r)
	})
	if digits == "" {
		return 0, errAmount
	}
	before, after, _ := strings.Cut(text, digits)
	if err := inCurrency(before+after, of); err != nil {
		return 0, err
	}
	digits = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "", "’", "").Replace(digits)
	point := strings.LastIndexAny(digits, ".,")
	whole, fraction := digits, ""
	if point >= 0 {
		mark := digits[point : point+1]
		whole, fraction = digits[:point], digits[point+1:]
		switch others := strings.Count(whole, ".") + strings.Count(whole, ","); {
		case others == 0 && len(fraction) == 3 && decimals == 0 && whole != "0":
			whole, fraction = whole+mark+fraction, ""
		// Three decimals are usual in some currencies: there 1.234 is clear, and 1,234 is not.
		case others == 0 && len(fraction) == 3 && whole != "0" && (decimals != 3 || mark == "," && len(whole) <= 3):
			return 0, errors.New("can be read in two ways: write it without a separator of thousands")
		case strings.Contains(whole, mark) && strings.Count(whole, mark) == others: // 1,234,567
			whole, fraction = digits, ""
		case strings.Contains(whole, mark):
			return 0, errAmount
		}
		groups := strings.FieldsFunc(whole, func(r rune) bool { return r == '.' || r == ',' })
		for _, group := range groups[min(1, len(groups)):] {
			if len(group) != 3 {
				return 0, errAmount
			}
		}
		whole = strings.Join(groups, "")
	}
	kept := strings.TrimRight(fraction, "0")
	if len(kept) > decimals {
		return 0, fmt.Errorf("has more decimals than the store's currency, which has %d", decimals)
	}
	n, err := strconv.ParseUint(whole+kept+strings.Repeat("0", decimals-len(kept)), 10, 63)
	if err != nil || whole == "" || strings.Trim(fraction, "0123456789") != "" || n > validate.MaxAmount {
		return 0, errAmount
	}
	return int64(n), nil
}

var (
	errAmount   = errors.New("must be an amount such as 12.50, from 0 up")
	errCurrency = errors.New("is in another currency than the store's")
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
