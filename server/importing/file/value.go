package file

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.storefront.example/server/validate"
)

// minorOf reads an amount such as 12.50, 12,50, $1,234.50 or 1.234,50 as minor units of a currency
// with so many decimals. It refuses more decimals than the currency has, unless they are zeros, and a
// text that can be read in two ways.
func minorOf(text string, decimals int) (int64, error) {
	digits := strings.TrimFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsSpace(r) || unicode.Is(unicode.Sc, r) })
	digits = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "", "’", "").Replace(digits)
	point := strings.LastIndexAny(digits, ".,")
	whole, fraction := digits, ""
	if point >= 0 {
		mark := digits[point : point+1]
		whole, fraction = digits[:point], digits[point+1:]
		switch others := strings.Count(whole, ".") + strings.Count(whole, ","); {
		// Three decimals are usual in some currencies: there 1.234 is clear, and 1,234 is not.
		case others == 0 && len(fraction) == 3 && whole != "0" && (decimals != 3 || mark == "," && len(whole) <= 3):
			return 0, fmt.Errorf("can be read in two ways: write it without a separator of thousands, such as %s or %s",
				whole+fraction, whole+"."+fraction[:max(2, decimals)])
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

var errAmount = fmt.Errorf("must be an amount such as 12.50, from 0 up")

// layouts are the forms of moments in exports. Without a zone a moment is UTC. The abbreviations of other
// zones are none: time.Parse would take each that it does not know for UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 GMT", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02", "2006/01/02 15:04:05",
}

// momentOf reads a date or a moment.
func momentOf(text string) (time.Time, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("must be a date such as 2026-01-31 or 2026-01-31 15:04:05 +0100")
}

// yes reports whether a text says yes.
func yes(text string) bool {
	switch strings.ToLower(text) {
	case "1", "true", "yes", "y":
		return true
	}
	return false
}
