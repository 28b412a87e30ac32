package importfile_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// The report has the members beside the list.
func TestJSONFilesWithAWrapper(t *testing.T) {
	t.Parallel()
	const a, b = `{"name":"A","email":"a@example.com"}`, `{"name":"B","email":"b@example.com"}`
	for name, row := range map[string]struct {
		text    string
		notRead []string
	}{
		"the kind's name":   {`{"customers":[` + a + `,` + b + `]}`, nil},
		"on many lines":     {"\ufeff{\n  \"customers\": [\n    " + a + ",\n    " + b + "\n  ]\n}\n", nil},
		"another case":      {`{"Customers":[` + a + `,` + b + `]}`, nil},
		"data":              {`{"object":"list","url":"/v1/customers","has_more":false,"data":[` + a + `,` + b + `]}`, []string{"object", "url", "has_more"}},
		"a name of its own": {`{"kunden":[` + a + `,` + b + `],"total":2,"tags":["x"],"meta":{"page":1}}`, []string{"total", "tags", "meta"}},
		"beside others":     {`{"orders":[{"reference":"R"}],"customers":[` + a + `,` + b + `],"products":[]}`, []string{"orders", "products"}},
		"in an object": {`{"page":1,"data":{"count":2,"customers":[` + a + `,` + b + `],"next":null},"took":{"ms":[1,[2]]}}`,
			[]string{"page", "data.count", "data.next", "took"}},
		"pages, one a line":     {`{"customers":[` + a + `],"next":1}` + "\n" + `{"customers":[` + b + `]}` + "\n", []string{"next"}},
		"arrays, one a line":    {`[` + a + `]` + "\n" + `[` + b + `]` + "\n", nil},
		"an empty page":         {`{"customers":[]}` + "\n" + `{"customers":[` + a + `,` + b + `]}`, nil},
		"objects, one a line":   {a + "\n" + b + "\n", nil},
		"an object of the list": {`{"data":[` + a + `,` + b + `]}`, nil},
	} {
		dbtest.Run(t, func(t *testing.T, d *db.DB) {
			s := newStore(t, d)
			s.twice("", customers, []byte(row.text), 2)
			done := s.load(options{Kind: customers, DryRun: true}, []byte(row.text))
			require.Equal(t, row.notRead, done.NotRead, name)
			require.Len(t, s.customers(), 2, name)
		})
	}
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	for text, want := range map[string]string{
		`{"people":[` + a + `],"friends":[` + b + `]}`: "the file is an object with several lists, of which none is named customers: people, friends",
		`{"customers":[` + a + `,`:                     "is no JSON: unexpected EOF; what follows it was not read: object 2",
		`{"customers":[` + a + `]`:                     "is no JSON: unexpected EOF; what follows it was not read: object 2",
		`{"customers":[` + a + `]}{"total":1}`:         "is no JSON: an object has no list customers; what follows it was not read: object 2",
		`{"customers":[` + a + `]} 7`:                  "is no JSON: 7 stands where an object with a list customers must; what follows it was not read: object 2",
		`{"customers":[` + a + `,7]}`:                  "must be one JSON object: object 2",
		`{"customers":[{"name":"A"}]}`:                 "email is required, or a phone: object 1",
		`{"customers":[]}`:                             "the file has no object: there is nothing to import",
		`[` + a + `]]`:                                 "is no JSON: ",
	} {
		for _, dry := range []bool{true, false} {
			_, err := s.try(options{Kind: customers, DryRun: dry}, []byte(text))
			if whole, is := errors.AsType[*importfile.FileError](err); is {
				require.Contains(t, whole.Problem, want, text)
				continue
			}
			var bad *importfile.BadLinesError
			require.ErrorAs(t, err, &bad, text)
			require.Contains(t, bad.Report.Problems[0].Text("object"), want, text)
		}
	}
	require.Empty(t, s.customers())
	// An order is a row although it has a list of items.
	o := storeOf(t, "EUR", "FR")
	done := o.load(options{Kind: orders}, []byte(`{"reference":"R","status":"PAID","amount":5,"email":"a@example.com",`+
		`"items":[{"title":"T","unitAmount":5,"quantity":1,"type":"FILE"}]}`+"\n"))
	require.Equal(t, 1, done.Stored)
	require.Len(t, o.orders()[0].GetItems(), 1)
	// Even if only --map shows that its members are fields.
	p := storeOf(t, "EUR", "FR")
	done = p.load(options{Kind: products, Columns: []column{{"cost", "price"}}},
		[]byte(`{"title":"A","cost":1,"variants":[{"sku":"x"},{"sku":"y"}]}`+"\n"+`{"title":"B","cost":2,"variants":[]}`+"\n"))
	require.Equal(t, 2, done.Stored)
}
