package validate

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/bojanz/currency"
	"golang.org/x/text/language/display"
	"golang.org/x/text/width"
)

// IsCurrency reports whether a text is a current ISO 4217 code (CLDR 48), in capitals.
func IsCurrency(code string) bool { return code != "" && currency.IsValid(code) }

// Currency refuses a code that is not in ISO 4217 today, and returns the code in capitals.
func (p *Problems) Currency(field, value string) string {
	code := strings.ToUpper(strings.TrimSpace(value))
	if !IsCurrency(code) {
		p.Invalid(field, "must be an ISO 4217 code in use, such as XAF")
	}
	return code
}

// currentCode returns the code of a current currency unchanged. For a currency that was withdrawn after stores had used it, it
// returns the code of another currency with two decimals.
func currentCode(code string) string {
	if IsCurrency(code) {
		return code
	}
	return "EUR"
}

// Decimals returns how many decimals a currency has (ISO 4217); a withdrawn currency has two.
func Decimals(code string) int {
	digits, _ := currency.GetDigits(currentCode(code))
	return int(digits)
}

var amountFormatter = sync.OnceValue(func() *currency.Formatter {
	f := currency.NewFormatter(currency.NewLocale("en"))
	f.CurrencyDisplay = currency.DisplayNone // no currency signs, because many currencies share a sign
	return f
})

// FormatAmount writes an amount of minor units for a reader: 1234567 is "1,234,567 XAF", "12,345.67 EUR" or "1,234.567 KWD".
func FormatAmount(minor int64, code string) string {
	amount, err := currency.NewAmountFromInt64(minor, currentCode(code))
	if err != nil {
		panic(err) // cannot happen, because currentCode returns a current code
	}
	return amountFormatter().Format(amount) + " " + code
}

// usualSigns are signs that people write for currencies, besides the codes and CLDR's signs.
var usualSigns = map[string][]string{
	"AED": {"DH", "DHS"}, "CHF": {"Fr", "SFr"}, "CNY": {"RMB"}, "GHS": {"₵", "GH"}, "JPY": {"円"}, "KRW": {"원"}, "KWD": {"KD"},
	"MAD": {"DH", "DHS"}, "NGN": {"N"}, "NPR": {"Rs"}, "OMR": {"﷼"}, "IRR": {"﷼"}, "QAR": {"﷼"}, "RON": {"lei"}, "RUB": {"руб", "р"},
	"SAR": {"﷼"}, "THB": {"บาท"}, "TRY": {"TL"}, "UAH": {"грн"}, "VND": {"đ"}, "XAF": {"F", "CFA"}, "XOF": {"F", "CFA"}, "YER": {"﷼"},
}

// signs maps each sign that people write for currencies, in the form of signKey, to the codes that it can mean. It has the
// codes themselves, CLDR's signs in all languages, and usualSigns.
var signs = sync.OnceValue(func() map[string][]string {
	found := map[string][]string{}
	added := map[[2]string]bool{}
	add := func(sign, code string) {
		if added[[2]string{sign, code}] {
			return
		}
		added[[2]string{sign, code}] = true
		if key := signKey(sign); key != "" && !slices.Contains(found[key], code) {
			found[key] = append(found[key], code)
		}
	}
	for _, code := range currency.GetCurrencyCodes() {
		for _, sign := range append(usualSigns[code], code) {
			add(sign, code)
		}
	}
	bases := map[string]bool{}
	for _, tag := range display.Supported.Tags() {
		base, _ := tag.Base()
		bases[base.String()] = true
		locale := currency.NewLocale(tag.String())
		for _, code := range currency.GetCurrencyCodes() {
			sign, _ := currency.GetSymbol(code, locale)
			add(sign, code)
		}
	}
	// For most currencies, CLDR has short signs such as $ or Rs only in the locales of their own countries.
	for _, country := range countries() {
		code, ok := currency.ForCountryCode(country)
		for base := range bases {
			if ok {
				sign, _ := currency.GetSymbol(code, currency.Locale{Language: base, Territory: country})
				add(sign, code)
			}
		}
	}
	return found
})

// signKey returns the form in which signs are compared: Rs., RS and rs are one sign, and so are FCFA and F CFA.
func signKey(sign string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '.' || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, width.Narrow.String(sign)))
}
