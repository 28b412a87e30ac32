package dashboard

import (
	"strconv"
	"strings"

	"go.storefront.example/server/validate"
)

// amount formats an amount of minor units in its currency: 1234567 is 1,234,567 XAF, 12,345.67 EUR
// and 1,234.567 KWD.
func amount(minor int64, currency string) string {
	places := validate.Decimals(currency)
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
