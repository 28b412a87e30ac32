package validate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/validate"
)

func TestAmountsHaveTheDecimalsOfTheirCurrency(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		minor    int64
		currency string
		want     string
		because  string
	}{
		{1234567, "XAF", "1,234,567 XAF", "the franc has no smaller unit"},
		{0, "XAF", "0 XAF", "nothing"},
		{1234567, "EUR", "12,345.67 EUR", "a hundred cents"},
		{5, "EUR", "0.05 EUR", "less than one"},
		{100000, "EUR", "1,000.00 EUR", "whole ones keep their decimals"},
		{1234567, "KWD", "1,234.567 KWD", "a thousand fils"},
		{1, "KWD", "0.001 KWD", "the smallest"},
		{1500, "IQD", "1.500 IQD", "three in ISO 4217, though tables for display have none"},
		{50, "CLF", "0.0050 CLF", "four"},
		{-1250, "EUR", "-12.50 EUR", "what is owed"},
		{999, "HRK", "9.99 HRK", "two in a currency that was withdrawn"},
		{1<<53 - 1, "XOF", "9,007,199,254,740,991 XOF", "the largest"},
	} {
		t.Run(row.because, func(t *testing.T) {
			require.Equal(t, row.want, validate.FormatAmount(row.minor, row.currency))
		})
	}
}

func TestAmountsWithADecimalPointAreReadInTheirCurrency(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text, currency string
		want           int64
	}{
		{"15.50", "NGN", 1550}, {"15.5", "EUR", 1550}, {"0.05", "EUR", 5}, {"15.500", "EUR", 1550}, {"15.5", "KWD", 15500},
		{"1.234", "KWD", 1234}, {"15.00", "XAF", 15}, {"90071992547409.91", "EUR", 1<<53 - 1},
	} {
		got, err := validate.ParseDecimal(row.text, row.currency)
		require.NoError(t, err)
		require.Equal(t, row.want, got, row)
	}
	for _, row := range []struct{ text, currency, problem string }{
		{"15.50", "XAF", "must be without decimals, as XAF has none"},
		{"15.505", "EUR", "must have at most 2 decimals, as EUR has"},
		{"15.", "EUR", "must be an amount such as 12.50, from 0 up"},
		{".5", "EUR", "must be an amount such as 12.50, from 0 up"},
		{"1.234.50", "EUR", "must be an amount such as 12.50, from 0 up"},
		{"1e3", "EUR", "must be an amount such as 12.50, from 0 up"},
		{"NaN", "EUR", "must be an amount such as 12.50, from 0 up"},
		{"-1.50", "EUR", "must be an amount such as 12.50, from 0 up"},
		{"90071992547409.92", "EUR", "must be at most 90,071,992,547,409.91 EUR"},
		{"99999999999999999999.5", "EUR", "must be at most 90,071,992,547,409.91 EUR"},
	} {
		_, err := validate.ParseDecimal(row.text, row.currency)
		require.EqualError(t, err, row.problem, row)
	}
}

// These currencies changed in ISO 4217 since 2017. The tables of golang.org/x/text lack the changes.
func TestCurrenciesAreThoseOfToday(t *testing.T) {
	t.Parallel()
	for _, code := range strings.Fields("XAF EUR USD MRU SLE VES VED ZWG XCG UYW STN BYN") {
		require.True(t, validate.IsCurrency(code), code)
	}
	for _, code := range append(strings.Fields("HRK VEF SLL ZWL BYR CUC ANG XXX XTS XAU BGN DEM eur EURO"), "") {
		require.False(t, validate.IsCurrency(code), code)
	}
	var p validate.Problems
	require.Equal(t, "SLE", p.Currency("currency", " sle"))
	require.Empty(t, p.Fields())
	p.Currency("currency", "HRK")
	require.Equal(t, "must be an ISO 4217 code in use, such as XAF", p.Fields()[0].Message)
}
