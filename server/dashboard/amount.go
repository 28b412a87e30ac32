package dashboard

import (
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

// amount formats an amount of minor units in its currency: 1234567 is 1,234,567 XAF, 12,345.67 EUR
// and 1,234.567 KWD.
func amount(minor int64, currency string) string {
	places, known := decimals[currency]
	if !known {
		places = 2
	}
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
	return sign + b.String() + "\u00a0" + currency
}
