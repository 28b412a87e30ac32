package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/server/validate"
)

// ParseAmount reads amounts as people, shops and spreadsheets write them, and refuses texts with two meanings.
func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text, currency string
		want           int64
		problem        error
	}{
		{"12.50", "EUR", 1250, nil},
		{"12,50", "EUR", 1250, nil},
		{"12", "EUR", 1200, nil},
		{"12.", "EUR", 1200, nil},
		{"€1,234.50", "EUR", 123450, nil},
		{"1.234,50", "EUR", 123450, nil},
		{"1,234,567", "EUR", 123456700, nil},
		{"12,50 €", "EUR", 1250, nil},
		{"eur 12.50", "EUR", 1250, nil},
		{"12.50 EUR.", "EUR", 1250, nil},
		{"€ 12.50 EUR", "EUR", 1250, nil},
		{"0.500", "EUR", 50, nil},
		{"1234.500", "EUR", 123450, nil},
		{"1'234.50", "CHF", 123450, nil},
		{"CHF 1’234.–", "CHF", 123400, nil},
		{"Fr. 99.-", "CHF", 9900, nil},
		{"99,-", "CZK", 9900, nil},
		{"99,-- €", "EUR", 9900, nil},
		{"kr 1.299,-", "NOK", 129900, nil},
		{"1 234,50 Kč", "CZK", 123450, nil},
		{"1\u00a0234,50\u00a0Kč", "CZK", 123450, nil},
		{"1\u202f234,50 €", "EUR", 123450, nil},
		{"1.305,05 TL", "TRY", 130505, nil},
		{"₺1.305,05", "TRY", 130505, nil},
		{"1 234 руб.", "RUB", 123400, nil},
		{"1 234,50 ₽", "RUB", 123450, nil},
		{"₹1,23,456.00", "INR", 12345600, nil},
		{"1,23,45,678", "INR", 1234567800, nil},
		{"Rs. 500", "INR", 50000, nil},
		{"Rs.500", "INR", 50000, nil},
		{"Rs. 1,234/-", "INR", 123400, nil},
		{"Rs 1,23,456.50/-", "INR", 12345650, nil},
		{"KSh 1,500/=", "KES", 150000, nil},
		{"1,234円", "JPY", 1234, nil},
		{"￥1,234", "JPY", 1234, nil},
		{"１，２３４円", "JPY", 1234, nil},
		{"¥1,234.00", "CNY", 123400, nil},
		{"R$ 1.234,50", "BRL", 123450, nil},
		{"R 1 234,50", "ZAR", 123450, nil},
		{"1.234,50 zł", "PLN", 123450, nil},
		{"2 500 FCFA", "XAF", 2500, nil},
		{"2 500 F CFA", "XOF", 2500, nil},
		{"۱٬۲۳۴٫۵۰", "EUR", 123450, nil},
		{"\u200e١٢٫٥٠ ر.س.\u200f", "SAR", 1250, nil},
		{".50", "EUR", 50, nil},
		{"$.50", "USD", 50, nil},
		{",50", "EUR", 50, nil},
		{"US $12.50", "USD", 1250, nil},
		{"HRK 12.50", "HRK", 1250, nil}, // a currency that was withdrawn

		{"1,234", "EUR", 0, validate.ErrAmbiguous},
		{"1.234", "EUR", 0, validate.ErrAmbiguous},
		{"￥1,234", "CNY", 0, validate.ErrAmbiguous},
		{"Rs.50", "INR", 0, validate.ErrAmbiguous},
		{"2.500", "XAF", 2500, nil},
		{"1,250", "XAF", 1250, nil},
		{"2.500,00", "XAF", 2500, nil},
		{"1234", "KWD", 1234000, nil},
		{"1.234", "KWD", 1234, nil},
		{"1.234 KWD", "KWD", 1234, nil},
		{"1,234", "KWD", 0, validate.ErrAmbiguous},
		{"KWD 12,500", "KWD", 0, validate.ErrAmbiguous},
		{"123,000", "KWD", 0, validate.ErrAmbiguous},
		{"0,234", "KWD", 234, nil},
		{"1234,567", "KWD", 1234567, nil},
		{"1,5", "KWD", 1500, nil},
		{"1,234.000", "KWD", 1234000, nil},
		{"1.234,000", "KWD", 1234000, nil},
		{"1,234,567", "KWD", 1234567000, nil},

		{"XAF 5000", "EUR", 0, validate.ErrOtherCurrency},
		{"₦12", "EUR", 0, validate.ErrOtherCurrency},
		{"$12", "EUR", 0, validate.ErrOtherCurrency},
		{"12 £", "EUR", 0, validate.ErrOtherCurrency},
		{"$12", "XAF", 0, validate.ErrOtherCurrency},
		{"1 234,50 Kč", "EUR", 0, validate.ErrOtherCurrency},
		{"Rs. 500", "EUR", 0, validate.ErrOtherCurrency},
		{"$12 EUR", "EUR", 0, validate.ErrOtherCurrency},
		{"1,234円", "CNY", 0, validate.ErrOtherCurrency},

		{"", "EUR", 0, validate.ErrAmount},
		{"free", "EUR", 0, validate.ErrAmount},
		{"v2 12.00", "EUR", 0, validate.ErrAmount},
		{"bad7", "EUR", 0, validate.ErrAmount},
		{"from 12", "EUR", 0, validate.ErrAmount},
		{"-12", "EUR", 0, validate.ErrAmount},
		{"12-", "EUR", 0, validate.ErrAmount},
		{"−12", "EUR", 0, validate.ErrAmount},
		{"(12)", "EUR", 0, validate.ErrAmount},
		{"12%", "EUR", 0, validate.ErrAmount},
		{"12 50", "EUR", 0, validate.ErrAmount},
		{"1,234,56", "EUR", 0, validate.ErrAmount},
		{"1,23,45", "INR", 0, validate.ErrAmount},
		{"1.23.456", "INR", 0, validate.ErrAmount},
		{"1.234.50", "EUR", 0, validate.ErrAmount},
		{"1,234.567,00", "EUR", 0, validate.ErrAmount},
		{"1 234.567,00", "EUR", 0, validate.ErrAmount},
		{"12.5.2026", "EUR", 0, validate.ErrAmount},
		{"12 - 15", "EUR", 0, validate.ErrAmount},
		{"1.2E+10", "EUR", 0, validate.ErrAmount},
	} {
		n, err := validate.ParseAmount(row.text, row.currency)
		require.ErrorIs(t, err, row.problem, "%s in %s", row.text, row.currency)
		require.Equal(t, row.want, n, "%s in %s", row.text, row.currency)
	}
	for _, row := range []struct{ text, currency, problem string }{
		{"0.500", "XAF", "must be without decimals, as XAF has none"},
		{"12.50", "XAF", "must be without decimals, as XAF has none"},
		{".50", "XAF", "must be without decimals, as XAF has none"},
		{"1.2345", "KWD", "must have at most 3 decimals, as KWD has"},
		{"1234.567", "EUR", "must have at most 2 decimals, as EUR has"},
		{"90071992547409.92", "EUR", "must be at most 90,071,992,547,409.91 EUR"},
	} {
		_, err := validate.ParseAmount(row.text, row.currency)
		require.EqualError(t, err, row.problem, row)
	}
}

// A text with the sign of a currency is an amount in a store with this currency, and is refused in other stores.
func TestCurrencySigns(t *testing.T) {
	t.Parallel()
	for text, country := range map[string]string{
		"$10": "USD CAD AUD NZD MXN COP", "US$10": "USD", "CA$10": "CAD", "C$ 10": "CAD", "NZ$10": "NZD", "R$ 10": "BRL", "£10": "GBP",
		"10 €": "EUR", "₦10": "NGN", "GH₵10": "GHS", "₵10": "GHS", "¥10": "JPY CNY", "10 USD": "USD", "N10": "NGN", "10 kr": "SEK NOK",
		"Rs 10": "INR PKR LKR", "10 元": "CNY", "10 din.": "RSD", "Q10": "GTQ",
	} {
		for _, store := range strings.Fields("USD CAD AUD NZD MXN COP BRL GBP EUR NGN GHS JPY CNY XAF SEK NOK INR PKR LKR RSD GTQ") {
			_, err := validate.ParseAmount(text, store)
			if strings.Contains(country, store) {
				require.NoError(t, err, "%s in %s", text, store)
			} else {
				require.ErrorIs(t, err, validate.ErrOtherCurrency, "%s in %s", text, store)
			}
		}
	}
}

// ParseAmount reads each text that FormatAmount writes as the same amount.
func TestAWrittenAmountIsReadAsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"XAF", "EUR", "KWD", "CLF", "INR", "HRK"}).Draw(t, "currency")
		minor := rapid.Int64Range(0, validate.MaxAmount).Draw(t, "minor")
		got, err := validate.ParseAmount(validate.FormatAmount(minor, code), code)
		require.NoError(t, err)
		require.Equal(t, minor, got)
	})
}
