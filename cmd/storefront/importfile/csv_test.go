package importfile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer"
)

func TestFormsOfCSV(t *testing.T) {
	t.Parallel()
	const title = "Café, „Été“"
	for name, text := range map[string]string{
		"UTF-8":         "title,price\n\"Café, „Été“\",12\n",
		"byte mark":     "\ufefftitle,price\n\"Café, „Été“\",12\n",
		"CRLF":          "title,price\r\n\r\n\"Café, „Été“\",12\r\n",
		"semicolons":    "title;price\nCafé, „Été“;12\n",
		"tabs":          "Title\tPRICE\nCafé, „Été“\t12",
		"other columns": "Colour,price,title\nred,12,\"Café, „Été“\"\n,,\n",
		"Windows-1252":  "title;price\nCaf\xe9, \x84\xc9t\xe9\x93;12\n",
		"UTF-16": "\xff\xfet\x00i\x00t\x00l\x00e\x00;\x00p\x00r\x00i\x00c\x00e\x00\n\x00C\x00a\x00f\x00\xe9\x00,\x00 " +
			"\x00\x1e\x20\xc9\x00t\x00\xe9\x00\x1c\x20;\x001\x002\x00\n\x00",
		"quoted header": "\"Colour, size, weight\";title;price\n;Café, „Été“;12\n",
		"CR":            "title;price\rCafé, „Été“;12\r",
		"JSON lines":    "{\"title\":\"Café, „Été“\",\"priceAmount\":12}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
			require.Equal(t, 1, s.load(options{Kind: products}, []byte(text)).Stored)
			p := s.products()[0]
			require.Equal(t, title, p.GetTitle())
			require.EqualValues(t, 12, p.GetPriceAmount())
			require.Equal(t, storefrontv1.Product_DRAFT, p.GetStatus())
			require.Equal(t, storefrontv1.Product_FILE, p.GetType())
			require.Equal(t, "cafe-ete", p.GetSlug())
			require.Equal(t, s.GetUrl()+"/products/cafe-ete", p.GetUrl())
		})
	}
}

func TestBadLines(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	s.load(options{Kind: customers}, []byte("email,phone\nada@example.com,+237670000001\n"))
	for _, row := range []struct {
		reason string
		o      options
		text   string
		want   string
		line   int
	}{
		{"a price is an amount", options{Kind: products}, "title,price\nA,1\nB,cheap\n", "price must be an amount such as 12.50", 3},
		{"a price is from 0 up", options{Kind: products}, "title,price\nB,-5\n", "price must be an amount", 2},
		{"the franc has no decimals", options{Kind: products}, "title,price\nB,12.50\n",
			"price must be without decimals, as XAF has none", 2},
		{"thousands or decimals", options{Kind: products}, "title;price\nB;12.500.00\n", "price must be an amount", 2},
		{"a price is needed", options{Kind: products}, "title,price\nB,\n", "price is required", 2},
		{"a title is needed", options{Kind: products}, "Title,Price\n,5\n", "Title must be 1 to 200", 2},
		{"a title identifies a product", options{Kind: products}, "title,price\nA,5\nB,6\nA,7\n", "title is that of another line too",
			4},
		{"lines are as long as the header", options{Kind: products}, "title,price\nA,5,6\n", "has 3 columns, but the header has 2", 2},
		{"quotes are closed", options{Kind: products}, "title,price\nA,5\n\"B,5\n", "is no CSV", 3},
		{"quotes stand at the ends", options{Kind: products}, "title,price\n\"A\"x,5\n",
			"is no CSV: a value with quotes must stand in quotes, its own doubled", 2},
		{"a record is not endless", options{Kind: products}, "title,price\nA,5\n\"" + strings.Repeat(strings.Repeat("x", 1000)+"\n",
			1100), "is no CSV: it opens a quote that is not closed", 3},
		{"a word is one of the set", options{Kind: products}, "title,price,status\nA,5,sold\n",
			`status must be one of ARCHIVED, DRAFT, PUBLISHED, not "sold"`, 2},
		{"a date has one meaning", options{Kind: products}, "title,price,createdAt\nA,5,01/02/2026\n",
			"createdAt can be read in two ways: say which with --date-format DD/MM/YYYY or MM/DD/YYYY", 2},
		{"the abbreviation of a zone has several meanings", options{Kind: products},
			"title,price,createdAt\nA,5,2026-01-31 15:04:05 EST\n", "createdAt must be a date such as 2026-01-31", 2},
		{"lines of one order stand together", options{Kind: orders},
			"reference,status,email,itemTitle,itemPrice\n1,PAID,a@example.com,A,1\n2,PAID,a@example.com,A,1\n1,PAID,a@example.com,B,2\n",
			"reference stands further up too", 4},
		{"a reference is of one order", options{Kind: orders},
			"id,reference,status,email,total\n1,R,PAID,a@example.com,1\n2,R,PAID,b@example.com,2\n", "reference stands further up too", 3},
		{"an order is of one buyer", options{Kind: orders},
			"reference,status,email,itemTitle,itemPrice\n1,PAID,a@example.com,A,1\n1,PAID,A@example.com,B,1\n1,PAID,b@example.com,A,1\n",
			"reference stands further up too", 4},
		{"an id is of one order", options{Kind: orders},
			"id,status,email,total\n1,PAID,a@example.com,1\n2,PAID,b@example.com,2\n1,PAID,a@example.com,3\n", "id stands further up too",
			4},
		{"an order has an end", options{Kind: orders}, "reference,status,email,total,itemTitle\n1,PAID,a@example.com,1,A\n" +
			strings.Repeat(",,,,A\n", 10_000), "belongs to a record of more than 10000 lines; reference may be empty", 10002},
		{"a sum is an amount", options{Kind: orders},
			"reference,status,email,itemTitle,itemPrice,itemQuantity\n1,PAID,a@example.com,A,4503599627370496,4096\n",
			"total is required: the sum of the items is no amount", 2},
		{"a customer is identified", options{Kind: customers}, "name,email\nAwa,\n", "email is required, or a phone", 2},
		{"an e-mail is one", options{Kind: customers}, "E-Mail,name\nawa,x\n", "E-Mail must be an e-mail address", 2},
		{"amounts are in the store's currency", options{Kind: products, From: "gumroad"}, "Item Name,Item Price ($)\nA,5\n",
			"currency must be XAF, the store's currency", 2},
		{"an item's line and column", options{Kind: orders, From: "shopify"},
			"Name,Email,Financial Status,Total,Lineitem name,Lineitem quantity,Lineitem " +
				"price\n#1,a@example.com,paid,5,A,1,5\n#1,,,,B,0,5\n", "Lineitem quantity must be a whole number from 1", 3},
		{"an order has an amount", options{Kind: orders}, "reference,status,email\n1,PAID,a@example.com\n", "total is required", 2},
		{"JSON lines with columns", options{Kind: products, Columns: []column{{"cost", "price"}}}, "{\"title\":\"A\",\"cost\":\"x\"}",
			"cost must be an amount", 1},
		{"JSON is an object a line", options{Kind: products, Columns: []column{{"cost", "price"}}}, "{\"title\":\"A\"",
			"must be one JSON object", 1},
		{"a title is no object", options{Kind: products, Columns: []column{{"cost", "price"}}},
			"{\"title\":{\"de\":\"A\"},\"cost\":5,\"images\":[]}", "title must be 1 to 200", 1},
		{"a member has one value", options{Kind: products, Columns: []column{{"cost", "price"}}},
			"{\"title\":\"A\",\"cost\":5,\"Cost\":6}", "stands in the line twice, in two spellings", 1},
		{"a member stands in an object once", options{Kind: orders}, `{"reference":"1","customer":{"email":"a@example.com","email":"b@example.com"}}`,
			"customer.email is JSON that can be read in two ways: duplicate object member name", 1},
		{"half of a letter is none", options{Kind: customers}, `{"email":"a@example.com","name":"A\ud800"}`, "name is JSON that", 1},
		{"an array has objects", options{Kind: products}, "[\n{}, 7]", "priceAmount is required", 1},
		{"an array ends", options{Kind: products}, "[{\"title\":\"A\",\"priceAmount\":1},", "is no JSON: ", 2},
	} {
		for _, dry := range []bool{true, false} {
			row.o.DryRun = dry
			_, err := s.try(row.o, []byte(row.text))
			var bad *importfile.BadLinesError
			require.ErrorAs(t, err, &bad, row.reason)
			require.Contains(t, err.Error(), row.want, row.reason)
			require.Equal(t, row.line, bad.Report.Problems[0].Lines[0][0], row.reason)
		}
	}
	require.Empty(t, s.products())
	_, err := s.try(options{Kind: products, Columns: []column{{"a", "colour"}}}, []byte("a,b\n"))
	require.ErrorIs(t, err, importfile.ErrOptions)
}

func TestEveryBadLineIsReported(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("email,name\n")
	for i := range 1800 {
		_, _ = fmt.Fprintf(&text, "buyer%d@example.com,B\n", i)
		if i == 700 || i == 1700 {
			text.WriteString("nobody,B\n")
		}
		if i == 1200 {
			text.WriteString("buyer3@example.com,again\n")
		}
	}
	for _, o := range []options{{DryRun: true}, {}, {SkipBad: true, DryRun: true}, {SkipBad: true}} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		o.Kind = customers
		done, err := s.try(o, []byte(text.String()))
		if !o.SkipBad {
			require.EqualError(t, err,
				`2 lines cannot be imported: email must be an e-mail address such as ada@example.com, not "nobody": lines 703, 1705`)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, importfile.Report{
			Lines: 1803, Stored: 1800, Merged: 1, Bad: 2, Read: []string{"email", "name"}, Problems: done.Problems, Notes: done.Notes,
		}, *done)
		require.Len(t, s.customers(), map[bool]int{true: 1800, false: 0}[o.SkipBad && !o.DryRun])
	}
}

func TestAnImportThatWaitsForItsInputEnds(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	for _, begun := range []string{"", "title,price\nA,1\n"} {
		pipe, end := io.Pipe()
		ctx, interrupt := context.WithCancel(t.Context())
		go func() {
			_, _ = io.WriteString(end, begun)
			interrupt()
		}()
		_, err := importfile.Load(ctx, s, pipe, options{Store: s.Store, Kind: products})
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, end.Close())
	}
}

// Not parallel, because it counts allocations.
func TestMembersThatNothingReadsAreBounded(t *testing.T) {
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	var text strings.Builder
	text.WriteString("{\"title\":\"A\",\"cost\":1")
	for i := range 60_000 {
		_, _ = fmt.Fprintf(&text, ",\"member %d\":0", i)
	}
	text.WriteString("}\n")
	for i := range transfer.BatchRows - 1 {
		_, _ = fmt.Fprintf(&text, "{\"title\":\"B%d\",\"cost\":1}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := s.load(options{Kind: products, Columns: []column{{"cost", "price"}}, DryRun: true}, []byte(text.String()))
	runtime.ReadMemStats(&after)
	require.Equal(t, transfer.BatchRows, done.Stored)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
}

func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"title,price\nA,5\n", "\ufefftitle;price\r\n\"A;\"\"b\";1.234,50\r\n", "Handle,Title,Variant Price\na,A,1\na,,2\n",
		"Name,Email,Financial Status,Total,Lineitem name\n#1,a@b.de,paid,5,A\n,,,,B\n", "\xff\xfea\x00", "{\"title\":1}", "\"",
		"a\tb\n\xe9\t",
		"reference,total,status,email,createdAt\n1,5,PAID,a@example.com,2026-01-01\n", "email\nx@example.com\n",
		"Purchase ID,Item Name\nTotals,\n", "sep=|\n|\nemail|createdAt\na@example.com|8/4/26 7:26 PM\n", "{\"customers\":[{\"email\":\"a\"}],\"n\":1}",
		"Title\n\nemail\nZo\xeb@example.com\n", "{\"data\":{\"x\":[1,{}],\"orders\":[[]]}}", "[{}][{}", "\xfe\xff\x00a\xd8\x00",
	} {
		for kind := range uint8(15) {
			f.Add(kind, []byte(text))
		}
	}
	kinds := [...]kind{products, customers, orders}
	shops := []string{"", "shopify", "woocommerce", "gumroad", "stripe"}
	s := newStore(f, dbtest.New(f, dbtest.SQLite, db.Config{}))
	f.Fuzz(func(t *testing.T, choice uint8, text []byte) {
		_, err := s.try(options{Kind: kinds[choice%3], From: shops[choice/3%5], DryRun: true}, text)
		if errors.Is(err, importfile.ErrOptions) {
			return
		}
		var bad *importfile.BadLinesError
		if _, whole := errors.AsType[*importfile.FileError](err); err != nil && !whole && (!errors.As(err, &bad) ||
			bad.Report.Problems[0].Problem == "") {
			t.Fatalf("%v", err)
		}
	})
}

// A read error in the middle of a file is not the file's end.
func TestAFileThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	away := errors.New("the disk is gone")
	for _, text := range []string{"", "title,price\n", "title,price\nA,5\n" + strings.Repeat(" ", 5000) + "\n"} {
		_, err := importfile.Load(t.Context(), s, io.MultiReader(strings.NewReader(text), broken{away}), options{Store: s.Store,
			Kind: products})
		require.ErrorIs(t, err, away)
	}
}

type broken struct{ error }

func (b broken) Read([]byte) (int, error) { return 0, b.error }
