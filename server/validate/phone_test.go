package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/validate"
)

func TestPhones(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, country, want, because string }{
		{"670000001", "CM", "+237670000001", "a valid number of the country"},
		{"06 12 34 56 78", "FR", "+33612345678", "with the prefix for calls within the country"},
		{"0612345678", "France", "+33612345678", "the country by its name"},
		{"07911 123456", "UK", "+447911123456", "a store that has UK as its country"},
		{"0612345678", "US", "", "possible in the US, and valid nowhere there"},
		{"0612345678", "AN", "", "no number can be read in a country that is no more"},
		{"0612345678", "", "", "in no country"},
		{"+10612345678", "FR", "+10612345678", "possible in international form"},
		{"0033 6 12 34 56 78", "CM", "+33612345678", "the prefix for calls abroad is international form"},
		{"011 33 6 12 34 56 78", "US", "+33612345678", "that of the US"},
		{"237670000001", "CM", "+237670000001", "without its +, in its own country"},
		{"33612345678", "CM", "", "without its +, in another country"},

		{"\u202a+1 415 555 0101\u202c", "CM", "+14155550101", "marks of direction"},
		{"\u2068+1 415 555 0101\u2069", "CM", "+14155550101", "isolates"},
		{"+1 415 555 0101\u200e", "CM", "+14155550101", "a mark at the end"},
		{"+1\ufe0e-415-555\ufe0f-0101", "CM", "+14155550101", "variation selectors"},
		{"\ufeff+1 415\u00ad555\u200b0101", "CM", "+14155550101", "a byte order mark, a soft hyphen, a space without width"},
		{"+1 415 555 0101;", "CM", "+14155550101", "the separator of a list"},
		{"+1\u202f415\u2009555\u00a00101 ", "CM", "+14155550101", "spaces of typography"},
		{"+1 415 555 0101 .", "CM", "+14155550101", "a full stop"},
		{"（+1）415–555–0101", "CM", "+14155550101", "full-width brackets and dashes"},
		{"＋１４１５５５５０１０１", "CM", "+14155550101", "full-width digits"},
		{"+٢٣٧٦٧٠٠٠٠٠٠١", "CM", "+237670000001", "Arabic digits"},
		{"923145415648.0", "PK", "+923145415648", "a float without its decimals"},
		{"+923145415648.00", "CM", "+923145415648", "two decimals"},
		{"923145415648,0", "PK", "+923145415648", "a decimal comma"},
		{"923145415648.0", "US", "", "a float that is no number of the US"},
		{"06.12.34.56.70", "FR", "+33612345670", "the last group ends with 0"},

		{"0612345678 mobile", "FR", "", "letters are not digits"},
		{"070 111 22 33 (Nils)", "SE", "", "a name"},
		{"0151 23456789 privat", "DE", "", "a word"},
		{"+49 151 12345678 Handy", "DE", "", "a word, in international form"},
		{"+237 670000001 WhatsApp", "CM", "", "longer than the number"},
		{"0612345678 ou 0698765432", "FR", "", "two numbers"},
		{"0612345678 / 0698765432", "FR", "", "two numbers with a slash"},
		{"+33612345678, +33698765432", "FR", "", "two numbers with a comma"},
		{"+33612345678;+33698765432", "FR", "", "two numbers with a semicolon"},
		{"+33 6 12 34 56 78 моб", "FR", "", "letters of another script"},
		{"+33612345678 x12", "FR", "", "an extension"},
		{"+33612345678#12", "FR", "", "an extension without letters"},
		{"1-800-FLOWERS", "US", "", "the letters of a keypad"},
		{"9.23145E+11", "PK", "", "rounded by a spreadsheet"},
		{"+1\n415 555 0101", "CM", "", "a control character"},
		{"", "CM", "", "nothing"},
		{"\u202a\u202c;", "CM", "", "marks alone"},
	} {
		got, ok := validate.Phone(row.text, row.country)
		require.Equal(t, row.want != "", ok, "%q in %s: %s", row.text, row.country, row.because)
		if ok {
			require.Equal(t, row.want, got, row.because)
		}
	}
}
