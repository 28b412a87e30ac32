package validate

import (
	"fmt"
	"strconv"
	"strings"
)

// decimals are the digits that the minor unit of a currency stands for where they are not two
// (ISO 4217, table A.1). Tables for display have other ones, such as none for the Iraqi dinar.
var decimals = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0,
	"UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// Decimals returns how many digits the minor unit of a currency (ISO 4217) stands for.
func Decimals(currency string) int {
	if places, known := decimals[currency]; known {
		return places
	}
	return 2
}

// FormatAmount is an amount of minor units for a reader: 1234567 is 1,234,567 XAF, 12,345.67 EUR and
// 1,234.567 KWD.
func FormatAmount(minor int64, currency string) string {
	places := Decimals(currency)
	sign := ""
	digits := strconv.FormatInt(minor, 10)
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "−", rest
	}
	if missing := places + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, fraction := digits[:len(digits)-places], digits[len(digits)-places:]
	var b strings.Builder
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if places > 0 {
		b.WriteString("." + fraction)
	}
	return sign + b.String() + " " + currency
}

// ParseAmount reads an amount with a decimal point, such as 15.50, as minor units of a currency. It refuses
// decimals that the currency does not have.
func ParseAmount(text, currency string) (int64, error) {
	places := Decimals(currency)
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "" || fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, fmt.Errorf("must be an amount such as 15.50, not %q", text)
	}
	kept := strings.TrimRight(fraction, "0")
	if len(kept) > 0 && places == 0 {
		return 0, fmt.Errorf("must be without decimals, as %s has none, not %q", currency, text)
	}
	if len(kept) > places {
		return 0, fmt.Errorf("must have at most %d decimals, as %s has, not %q", places, currency, text)
	}
	minor, err := strconv.ParseInt(whole+kept+strings.Repeat("0", places-len(kept)), 10, 64)
	if err != nil || minor > MaxAmount {
		return 0, fmt.Errorf("must be at most %s, not %q", FormatAmount(MaxAmount, currency), text)
	}
	return minor, nil
}
