package importing

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Amounts are read in the ways that shops and spreadsheets write them, and refused if that leaves two meanings.
func TestAmounts(t *testing.T) {
	t.Parallel()
	const ambiguous = "can be read in two ways: write it without a separator of thousands"
	for _, row := range []struct {
		text     string
		decimals int
		want     int64
		problem  string
	}{
		{"12.50", 2, 1250, ""},
		{"12,50", 2, 1250, ""},
		{"€1,234.50", 2, 123450, ""},
		{"1.234,50", 2, 123450, ""},
		{"1,234,567", 2, 123456700, ""},
		{"v2 12.00", 2, 0, errAmount.Error()},
		{"bad7", 2, 0, errAmount.Error()},
		{"from 12", 2, 0, errAmount.Error()},
		{"XAF 5000", 2, 0, errCurrency.Error()},
		{"₦12", 2, 0, errCurrency.Error()},
		{"$12", 2, 0, errCurrency.Error()},
		{"12 £", 2, 0, errCurrency.Error()},
		{"$12", 0, 0, errCurrency.Error()},
		{"12,50 €", 2, 1250, ""},
		{"eur 12.50", 2, 1250, ""},
		{"2 500 FCFA", 0, 2500, ""},
		{"1,234", 2, 0, ambiguous},
		{"1.234", 2, 0, ambiguous},
		{"0.500", 2, 50, ""},
		{"2.500", 0, 2500, ""},
		{"1,250", 0, 1250, ""},
		{"2.500,00", 0, 2500, ""},
		{"0.500", 0, 0, "has more decimals than the store's currency, which has 0"},
		{"12.50", 0, 0, "has more decimals than the store's currency, which has 0"},

		{"1234", 3, 1234000, ""},
		{"1.234", 3, 1234, ""},
		{"1.234 KWD", 3, 1234, ""},
		{"1,234", 3, 0, ambiguous},
		{"KWD 12,500", 3, 0, ambiguous},
		{"123,000", 3, 0, ambiguous},
		{"0,234", 3, 234, ""},
		{"1234,567", 3, 1234567, ""},
		{"1,5", 3, 1500, ""},
		{"1,234.000", 3, 1234000, ""},
		{"1.234,000", 3, 1234000, ""},
		{"1,234,567", 3, 1234567000, ""},
		{"1.2345", 3, 0, "has more decimals than the store's currency, which has 3"},
	} {
		n, err := minorOf(row.text, map[int]string{0: "XAF", 2: "EUR", 3: "KWD"}[row.decimals])
		if row.problem != "" {
			require.EqualError(t, err, row.problem, "%s with %d decimals", row.text, row.decimals)
			continue
		}
		require.NoError(t, err, "%s with %d decimals", row.text, row.decimals)
		require.Equal(t, row.want, n, "%s with %d decimals", row.text, row.decimals)
	}
}

// A sign is that of the store's currency, or of another one.
func TestCurrencySigns(t *testing.T) {
	t.Parallel()
	for text, of := range map[string]string{
		"$10": "USD CAD AUD NZD MXN BRL", "US$10": "USD", "CA$10": "CAD", "C$ 10": "CAD", "NZ$10": "NZD", "R$ 10": "BRL", "£10": "GBP",
		"10 €": "EUR", "₦10": "NGN", "GH₵10": "GHS", "₵10": "GHS", "¥10": "JPY CNY", "10 USD": "USD", "N10": "NGN",
	} {
		for _, store := range []string{"USD", "CAD", "AUD", "NZD", "MXN", "BRL", "GBP", "EUR", "NGN", "GHS", "JPY", "CNY", "XAF"} {
			_, err := minorOf(text, store)
			if strings.Contains(of, store) {
				require.NoError(t, err, "%s in %s", text, store)
			} else {
				require.Error(t, err, "%s in %s", text, store)
			}
		}
	}
}
