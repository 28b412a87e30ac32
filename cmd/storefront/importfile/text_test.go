package importfile_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// In an unknown country, no national phone number is read.
func TestCountriesOfPhones(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := storeOn(t, d, "USD", "US")
		done, _ := s.agreed(options{Kind: customers}, "email,phone,country\na@example.com,07911 123456,UK\nb@example.com,07911 123457,GB\n"+
			"c@example.com,07911 123458,United Kingdom\nd@example.com,0612345678,France\ne@example.com,0151 23456789,Deutschland\n"+
			"f@example.com,670000001,CMR\ng@example.com,0612345679,Freedonia\nh@example.com,+33612345670,Freedonia\n"+
			"i@example.com,0612345671,\nj@example.com,0612345672,AN\nk@example.com,415 555 0101,\n")
		require.Equal(t, 11, done.Stored)
		phones := []string{}
		for _, c := range s.customers() {
			phones = append(phones, c.GetPhone())
		}
		slices.Sort(phones)
		require.Equal(t, []string{"", "", "", "+14155550101", "+237670000001", "+33612345670", "+33612345678", "+447911123456",
			"+447911123457", "+447911123458", "+4915123456789"}, phones)
		require.Equal(t, []string{
			`phone is left out: it must be a number in international form, because the country "Freedonia" is not known ("0612345679"): line 8`,
			`phone is left out: it must be a number in international form such as +237670000001, or a valid one of US ("0612345671"): line 10`,
			`phone is left out: it must be a number in international form, because the country "AN" is not known ("0612345672"): line 11`,
		}, notes(done.Notes))
		_, err := s.try(options{Kind: customers}, []byte("name,phone,country\nA,0612345679,Freedonia\n"))
		require.ErrorContains(t, err, `phone must be a number in international form, because the country "Freedonia" is not known, not `+
			`"0612345679": line 2`)
		done, _ = s.agreed(options{Kind: orders}, "reference,status,total,email,phone,country\n1,PAID,5,z@example.com,0612345673,France\n"+
			"2,PAID,5,y@example.com,0612345674 mobile,France\n")
		require.Contains(t, notes(done.Notes)[0], `phone is left out: it must be a number in international form such as +237670000001, or a `+
			`valid one of FR ("0612345674 mobile"): line 3`)
	})
}

// Invisible characters, which copying adds, are dropped. A text with words beside the number is no phone.
func TestPhonesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := storeOn(t, d, "SEK", "SE")
		done, _ := s.agreed(options{Kind: customers}, "name,email,phone\nAnn,ann@example.com,\u202a+1 415 555 0101\u202c\n"+
			"Bob,bob@example.com,+1\ufe0e-415-555-0102\nCy,cy@example.com,\u2068+1 415 555 0103\u2069\nDi,di@example.com,+1 415 555 0104\u200e\n"+
			"Ed,ed@example.com,+1 415 555 0105;\n")
		require.Empty(t, notes(done.Notes))
		phones := by(s.customers(), (*storefrontv1.Customer).GetPhone)
		for i, email := range []string{"ann", "bob", "cy", "di", "ed"} {
			require.Equal(t, email+"@example.com", phones[fmt.Sprintf("+1415555010%d", i+1)].GetEmail())
		}
		done, _ = s.agreed(options{Kind: customers}, "name,email,phone\nA,a@example.com,070 111 22 33 (Nils)\nB,b@example.com,0612345678 mobile\n"+
			"C,c@example.com,+49 151 12345678 Handy\nD,d@example.com,923145415648.0\n")
		require.Equal(t, []string{`phone is left out: it must be a number in international form such as +237670000001, or a valid one of SE ` +
			`("070 111 22 33 (Nils)", "0612345678 mobile", "+49 151 12345678 Handy", …): lines 2–5`}, notes(done.Notes))
		require.Len(t, by(s.customers(), (*storefrontv1.Customer).GetPhone), 6, "none of the four")
	})
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := storeOn(t, d, "PKR", "PK")
		s.load(options{Kind: customers}, []byte("name,email,phone\nGy,gy@example.com,923145415648.0\n"))
		require.Equal(t, "+923145415648", s.customers()[0].GetPhone(), "a float is its whole number")
	})
}

// E-mails that differ only in invisible characters around them are of one customer.
func TestMarksAroundAnEmail(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		done, _ := s.agreed(options{Kind: customers}, "name,email\nAnn Alpha,ann@example.com\nAnn Alpha,ann@example.com\u200b\n"+
			"Ann Alpha,\ufeffann@example.com\nAnn Alpha,ann@example.com\u202c\n")
		require.Len(t, s.customers(), 1)
		require.Equal(t, "ann@example.com", s.customers()[0].GetEmail())
		require.NotEmpty(t, notes(done.Notes), "the lines of the others are named")
		_, err := s.try(options{Kind: customers}, []byte("name,email\nAnn,an\u200bn@example.com\n"))
		require.ErrorContains(t, err, "email must be an e-mail address, without spaces and invisible characters in it")
	})
}

// An amount in another currency, or one that could mean two numbers, is refused.
func TestAmountsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for currency, rows := range map[string]map[string]int64{
		"INR": {"₹1,23,456.00": 12_345_600, "Rs. 500": 50_000, "Rs. 500/-": 50_000, "$5": -1, "1,234": -1},
		"CZK": {"1 234,50 Kč": 123_450, "99,-": 9_900, "12 €": -1},
		"TRY": {"1.305,05 TL": 130_505}, "RUB": {"1 234 руб.": 123_400}, "JPY": {"1,234円": 1_234, "￥1,234": 1_234}, "USD": {".50": 50, "12 50": -1},
	} {
		s := storeOf(t, currency, "US")
		for text, want := range rows {
			done, err := s.try(options{Kind: products}, []byte("title,price\n\"No. "+text+"\",\""+text+"\"\n"))
			if want < 0 {
				require.ErrorContains(t, err, "price ", text)
				require.ErrorContains(t, err, ": line 2", text)
				continue
			}
			require.NoError(t, err, text)
			require.Equal(t, 1, done.Stored)
			require.Equal(t, want, by(s.products(), (*storefrontv1.Product).GetTitle)["No. "+text].GetPriceAmount(), text)
		}
	}
}
