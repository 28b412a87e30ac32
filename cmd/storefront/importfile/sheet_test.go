package importfile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// No row of the table is lost.
func TestWhatStandsAroundATable(t *testing.T) {
	t.Parallel()
	const short = "has fewer columns than the header; those that it lacks are read as empty: "
	for name, row := range map[string]struct{ text, want string }{
		"a line for Excel":                {"\ufeffsep=;\r\nname;email\r\nÉva Ö;eva@example.com\r\n", ""},
		"one for commas":                  {"sep=,\nname,email\nÉva Ö,eva@example.com\n", ""},
		"one for tabs":                    {"sep=\t\nname\temail\nÉva Ö\teva@example.com\n", ""},
		"one for bars":                    {"SEP=|\nname|email\nÉva Ö|eva@example.com\n", ""},
		"one that was saved again":        {"\"sep=;\",\nname;email\nÉva Ö;eva@example.com\n", ""},
		"one against the header's commas": {"sep=;\nname, nickname;email\nÉva Ö;eva@example.com\n", ""},
		"one, and blank lines":            {"sep=;\n\n;\nname;email\nÉva Ö;eva@example.com\n", ""},
		"blank lines above the header":    {"\n  \n\r\nname,email\nÉva Ö,eva@example.com\n", ""},
		"blank cells above the header":    {";;;\n\"\";;;\nname;email;;\nÉva Ö;eva@example.com;;\n", ""},
		"blank lines within":              {"name,email\n\n,\nÉva Ö,eva@example.com\n\n ,\n", ""},
		"a row without its last cells":    {"name,email,phone,country\nÉva Ö,eva@example.com\n", short + "line 2"},
		"a last line without an end":      {"name,email,phone\nÉva Ö,eva@example.com", short + "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, d *db.DB) {
				s := newStore(t, d)
				s.twice("", customers, []byte(row.text), 1)
				c := s.customers()[0]
				require.Equal(t, "eva@example.com", c.GetEmail())
				if !strings.Contains(row.text, "nickname") {
					require.Equal(t, "Éva Ö", c.GetName())
				}
				require.Nil(t, c.Phone)
				require.Equal(t, row.want, strings.Join(notes(s.load(options{Kind: customers, DryRun: true}, bytes.ReplaceAll([]byte(row.text),
					[]byte("eva@"), []byte("ada@"))).Notes), "\n"))
			})
		})
	}
}

// A row longer than the header, and a title above the header, are refused with the reason.
func TestWhatIsNoRowOfATable(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	for text, want := range map[string]string{
		"name,email\nA,a@example.com,b\n":                            "has 3 columns, but the header has 2: line 2",
		"sep=;\nname;email\nA;a@example.com;;b\n":                    "has 4 columns, but the header has 2: line 3",
		"Customers of May\nname,email\nA,a@example.com\n":            `line 1 ("Customers of May") is a title above the header, which is line 2: delete the lines above that`,
		"Customers, May 2026\n\nShop: Kiosk\nname;email\nA;a@x.de":   `line 1 ("Customers, May 2026") is a title above the header, which is line 4`,
		"\n;;\nCustomers;;\n;;\nname;email;phone\nA;a@example.com":   `line 3 ("Customers") is a title above the header, which is line 5`,
		"sep=|\nCustomers|\nname|email\nA|a@example.com":             `line 2 ("Customers") is a title above the header, which is line 3`,
		"Customers\nnom,ville\n":                                     "the file has no column for email or phone",
		"a\n" + strings.Repeat("x\n", 20) + "email\na@example.com\n": "the file has no column for email or phone",
		"sep=;\n":                              "the file is empty",
		"sep=;\nname,email\nA,a@example.com\n": "the file has no column for email or phone",
		"Clients\n" + `"First, last",email` + "\n" + `"A, B",a@example.com` + "\n": `line 1 ("Clients") is a title above the header, which is line 2`,
	} {
		for _, dry := range []bool{true, false} {
			_, err := s.try(options{Kind: customers, DryRun: dry}, []byte(text))
			require.ErrorContains(t, err, want, "%q", text)
		}
	}
	require.Empty(t, s.customers())
}

// The first line names the separator, so that an import can read the file.
func TestRejectedRowsKeepTheirSeparator(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	var rejects bytes.Buffer
	s.load(options{Kind: customers, SkipBad: true, Rejects: &rejects}, []byte("sep=^\nname^email\nA, B^nobody\nC^c@example.com\n"))
	s.load(options{Kind: customers}, bytes.Replace(rejects.Bytes(), []byte("nobody"), []byte("a@example.com"), 1))
	require.Equal(t, "A, B", by(s.customers(), (*storefrontv1.Customer).GetEmail)["a@example.com"].GetName())
}

func TestHarmlessFormsOfRows(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty cells beyond the header": "reference,status,total,email,note\nA1,PAID,10,a@example.com,\"Ring, please\",, \n",
		"spaces before quotes":          "reference, status, total, \"email\", note\nA1, PAID, 10, a@example.com, \"Ring, please\"\n",
		"tabs and spaces":               "reference\tstatus\ttotal\temail\tphone\tnote\nA1\tPAID\t10\ta@example.com\t\tRing, please\t\n",
		"bars":                          "reference|status|total|email|note\nA1|PAID|10|a@example.com|Ring, please\n",
		"marks":                         "\ufeff\ufeff\"reference\",status,total,email,note\n\ufeffA1,PAID,10,a@example.com,\"Ring, please\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
			require.Empty(t, s.load(options{Kind: orders}, []byte(text)).Notes)
			order := by(s.orders(), (*storefrontv1.Order).GetReference)["A1"]
			require.Equal(t, "Ring, please", order.GetNote())
			require.EqualValues(t, 10, order.GetAmount())
		})
	}
}

// A stray quote makes rows a part of a value, in valid CSV.
func TestRowsInsideAValueAreNamed(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	done := s.load(options{Kind: orders}, []byte("reference,status,total,email,note\n"+
		"A1,PAID,10,a@example.com,\"6ft\nA2,PAID,10,b@example.com,ok\nand more, no row\nA3,PAID,10,c@example.com,12\"\n"+
		"A4,PAID,10,d@example.com,\"Two\nlines\"\n"))
	require.Equal(t, []string{`looks like a row, but is read as a part of a value in quotes that begins further up ` +
		`("A2,PAID,10,b@example.com,ok", "A3,PAID,10,c@example.com,12""): lines 3 (line 2), 5 (line 2)`}, notes(done.Notes))
	require.Len(t, s.orders(), 2)
}

// A cell may be the name of a column, as in exports of address books.
func TestRowsAreNoHeader(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	for text, problem := range map[string]string{
		"First Name,Phone 1 - Label,E-mail 1 - Value\nAnn,Mobile,a@example.com\n": "the file has no column for email or phone; name it with --map",
		"\n <html><table><tr><td>email</td></tr></table></html>\n":                "the file is HTML or XML",
	} {
		_, err := s.try(options{Kind: customers}, []byte(text))
		require.ErrorContains(t, err, problem, text)
	}
}
