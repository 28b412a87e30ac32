package file_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/importing/file"
)

// What spreadsheets write is read: marks, separators, line ends, quotes and character sets.
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
		"UTF-16":        "\xff\xfet\x00i\x00t\x00l\x00e\x00;\x00p\x00r\x00i\x00c\x00e\x00\n\x00C\x00a\x00f\x00\xe9\x00,\x00 \x00\x1e\x20\xc9\x00t\x00\xe9\x00\x1c\x20;\x001\x002\x00\n\x00",
		"quoted header": "\"Colour, size, weight\";title;price\n;Café, „Été“;12\n",
		"CR":            "title;price\rCafé, „Été“;12\r",
		"JSON lines":    "{\"title\":\"Café, „Été“\",\"priceAmount\":12}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
			require.Equal(t, 1, s.load(file.Options{Kind: file.Products}, []byte(text)).Stored)
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

// Every form of a bad line is refused with its number and its column, and nothing of its batch is stored.
func TestBadLines(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	s.load(file.Options{Kind: file.Customers}, []byte("email,phone\nada@example.com,+237670000001\n"))
	for _, row := range []struct {
		reason string
		o      file.Options
		text   string
		want   string
	}{
		{"a price is an amount", file.Options{Kind: file.Products}, "title,price\nA,1\nB,cheap\n", "line 3: price: must be an amount such as 12.50"},
		{"a price is from 0 up", file.Options{Kind: file.Products}, "title,price\nB,-5\n", "line 2: price: must be an amount"},
		{"the franc has no decimals", file.Options{Kind: file.Products}, "title,price\nB,12.50\n", "line 2: price: has more decimals than the store's currency, which has 0"},
		{"thousands or decimals", file.Options{Kind: file.Products}, "title;price\nB;12.500\n", "line 2: price: can be read in two ways"},
		{"a price is needed", file.Options{Kind: file.Products}, "title,price\nB,\n", "line 2: price: is required"},
		{"a title is needed", file.Options{Kind: file.Products}, "Title,Price\n,5\n", "line 2: Title: must be 1 to 200"},
		{"a title identifies a product", file.Options{Kind: file.Products}, "title,price\nA,5\nB,6\nA,7\n", "line 4: title: is that of line 2 too"},
		{"the columns are named", file.Options{Kind: file.Products}, "name,prize\nA,5\n", "line 1: no column for title; name it with --map COLUMN=title"},
		{"lines are as long as the header", file.Options{Kind: file.Products}, "title,price\nA,5,6\n", "line 2: has 3 columns, but the header has 2"},
		{"quotes are closed", file.Options{Kind: file.Products}, "title,price\nA,5\n\"B,5\n", "line 3: is no CSV"},
		{"quotes stand at the ends", file.Options{Kind: file.Products}, "title,price\nA\"x\",5\n", "line 2: is no CSV"},
		{"a record is not endless", file.Options{Kind: file.Products}, "title,price\nA,5\n\"" + strings.Repeat("x\n", 1<<20), "is longer than 1 MiB"},
		{"a word is one of the set", file.Options{Kind: file.Products}, "title,price,status\nA,5,sold\n", `line 2: status: must be one of ARCHIVED, DRAFT, PUBLISHED, not "sold"`},
		{"a date has one meaning", file.Options{Kind: file.Products}, "title,price,createdAt\nA,5,01/02/2026\n", "line 2: createdAt: must be a date such as 2026-01-31"},
		{"the abbreviation of a zone has several meanings", file.Options{Kind: file.Products}, "title,price,createdAt\nA,5,2026-01-31 15:04:05 EST\n", "line 2: createdAt: must be a date such as 2026-01-31"},
		{"a mapped column is there", file.Options{Kind: file.Products, Columns: []file.Column{{"Notiz", "summary"}}}, "title,price,Notitz\nA,5,x\n", "line 1: no column Notiz, which --map names; the columns are title, price, Notitz"},
		{"lines of one order stand together", file.Options{Kind: file.Orders}, "reference,status,email,itemTitle,itemPrice\n1,PAID,a@example.com,A,1\n2,PAID,a@example.com,A,1\n1,PAID,a@example.com,B,2\n", "line 4: reference: 1 stands further up too"},
		{"a reference is of one order", file.Options{Kind: file.Orders}, "id,reference,status,email,total\n1,R,PAID,a@example.com,1\n2,R,PAID,b@example.com,2\n", "line 3: reference: R stands further up too"},
		{"an order is of one buyer", file.Options{Kind: file.Orders}, "reference,status,email,itemTitle,itemPrice\n1,PAID,a@example.com,A,1\n1,PAID,A@example.com,B,1\n1,PAID,b@example.com,A,1\n", "line 4: reference: 1 stands further up too"},
		{"an id is of one order", file.Options{Kind: file.Orders}, "id,status,email,total\n1,PAID,a@example.com,1\n2,PAID,b@example.com,2\n1,PAID,a@example.com,3\n", "line 4: id: 1 stands further up too"},
		{"an order has an end", file.Options{Kind: file.Orders}, "reference,status,email,total,itemTitle\n1,PAID,a@example.com,1,A\n" + strings.Repeat(",,,,A\n", 10_000), "line 10002: belongs to a record of more than 10000 lines; reference may be empty"},
		{"a sum is an amount", file.Options{Kind: file.Orders}, "reference,status,email,itemTitle,itemPrice,itemQuantity\n1,PAID,a@example.com,A,4503599627370496,4096\n", "line 2: total: is required: the sum of the items is no amount"},
		{"a customer is identified", file.Options{Kind: file.Customers}, "name,email\nAwa,\n", "line 2: email: is required, or a phone"},
		{"an e-mail is one", file.Options{Kind: file.Customers}, "E-Mail,name\nawa,x\n", "line 2: E-Mail: must be an e-mail address"},
		{"amounts are in the store's currency", file.Options{Kind: file.Products, From: "gumroad"}, "Item Name,Item Price ($)\nA,5\n", "line 2: currency: must be XAF, the store's currency"},
		{"an item's line and column", file.Options{Kind: file.Orders, From: "shopify"}, "Name,Email,Financial Status,Total,Lineitem name,Lineitem quantity,Lineitem price\n#1,a@example.com,paid,5,A,1,5\n#1,,,,B,0,5\n", "line 3: Lineitem quantity: must be a whole number from 1"},
		{"an order has an amount", file.Options{Kind: file.Orders}, "reference,status,email\n1,PAID,a@example.com\n", "line 2: total: is required"},
		{"JSON lines with columns", file.Options{Kind: file.Products, Columns: []file.Column{{"cost", "price"}}}, "{\"title\":\"A\",\"cost\":\"x\"}", "line 1: cost: must be an amount"},
		{"JSON is an object a line", file.Options{Kind: file.Products, Columns: []file.Column{{"cost", "price"}}}, "{\"title\":\"A\"", "line 1: must be one JSON object"},
		{"JSON with columns is flat", file.Options{Kind: file.Products, Columns: []file.Column{{"cost", "price"}}}, "{\"title\":{\"de\":\"A\"},\"cost\":5,\"images\":[]}", "line 1: title: must be a text, a number, true or false"},
		{"a member has one value", file.Options{Kind: file.Products, Columns: []file.Column{{"cost", "price"}}}, "{\"title\":\"A\",\"cost\":5,\"Cost\":6}", "stands in the line twice, in two spellings"},
		{"JSON is no array", file.Options{Kind: file.Products}, "[\n{}]", "line 1: "},
	} {
		for _, dry := range []bool{true, false} {
			row.o.DryRun = dry
			_, err := s.try(row.o, []byte(row.text))
			var bad *file.BadLinesError
			require.ErrorAs(t, err, &bad, row.reason)
			require.Contains(t, err.Error(), row.want, row.reason)
		}
	}
	require.Empty(t, s.products())
	_, err := s.try(file.Options{Kind: file.Products, Columns: []file.Column{{"a", "colour"}}}, []byte("a,b\n"))
	require.ErrorIs(t, err, file.ErrOptions)
}

// All bad lines are reported, those behind the first too, and a dry run agrees with the run.
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
			text.WriteString("buyer3@example.com,again\n") // the same customer
		}
	}
	for _, dry := range []bool{true, false} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		var lines []int
		done, err := s.try(file.Options{Kind: file.Customers, DryRun: dry, Bad: func(b file.LineError) { lines = append(lines, b.Line) }}, []byte(text.String()))
		require.ErrorContains(t, err, "2 lines cannot be imported; the first is line 703: email")
		require.Equal(t, []int{703, 1705}, lines)
		require.Equal(t, 2, done.Bad)
		if !dry {
			require.Equal(t, 500, done.Stored, "the batches before the first bad line are stored")
		}
		require.Len(t, s.customers(), map[bool]int{true: 0, false: 500}[dry])
	}
}

// opening is an API that lets the rest of a file be read once it has answered.
type opening struct {
	file.API
	answered chan struct{}
	once     *sync.Once
}

func (o opening) ImportCustomers(ctx context.Context, in *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error) {
	defer o.once.Do(func() { close(o.answered) })
	return o.API.ImportCustomers(ctx, in)
}

// Read waits for the answer, and then ends.
func (o opening) Read([]byte) (int, error) {
	<-o.answered
	return 0, io.EOF
}

// The rows that the store refused are named while the file is read on, where objects have new members.
func TestRowsAreRefusedWhileTheFileIsRead(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	rows := func(n int) *strings.Reader {
		var text strings.Builder
		for i := range n {
			_, _ = fmt.Fprintf(&text, "{\"mail\":\"nobody\",\"phone\":\"12\",\"member%d of %d\":1}\n", i, n)
		}
		return strings.NewReader(text.String())
	}
	api := opening{s, make(chan struct{}), &sync.Once{}}
	in := io.MultiReader(rows(file.BatchRows+1), api, rows(file.BatchRows-1))
	done, err := file.Load(t.Context(), api, in, file.Options{
		Store: s.Store, Kind: file.Customers, Columns: []file.Column{{"mail", "email"}}, DryRun: true,
	})
	require.ErrorContains(t, err, "the first is line 1: mail: must be an e-mail address")
	require.Equal(t, 2*file.BatchRows, done.Bad)
}

// An import whose input waits, such as a pipe, ends with its context.
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
		_, err := file.Load(ctx, s, pipe, file.Options{Store: s.Store, Kind: file.Products})
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, end.Close())
	}
}

// One line with many members does not make every other line large. It runs alone, since it counts what is allocated.
//
//nolint:paralleltest // See above.
func TestMembersThatNothingReadsAreBounded(t *testing.T) {
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	var text strings.Builder
	text.WriteString("{\"title\":\"A\",\"cost\":1")
	for i := range 60_000 {
		_, _ = fmt.Fprintf(&text, ",\"member %d\":0", i)
	}
	text.WriteString("}\n")
	for i := range file.BatchRows - 1 {
		_, _ = fmt.Fprintf(&text, "{\"title\":\"B%d\",\"cost\":1}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := s.load(file.Options{Kind: file.Products, Columns: []file.Column{{"cost", "price"}}, DryRun: true}, []byte(text.String()))
	runtime.ReadMemStats(&after)
	require.Equal(t, file.BatchRows, done.Stored)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20))
}

// Whatever a file holds, it is imported, or its bad lines are refused by number.
func FuzzFile(f *testing.F) {
	for _, text := range []string{
		"title,price\nA,5\n", "\ufefftitle;price\r\n\"A;\"\"b\";1.234,50\r\n", "Handle,Title,Variant Price\na,A,1\na,,2\n",
		"Name,Email,Financial Status,Total,Lineitem name\n#1,a@b.de,paid,5,A\n,,,,B\n", "\xff\xfea\x00", "{\"title\":1}", "\"", "a\tb\n\xe9\t",
		"reference,total,status,email,createdAt\n1,5,PAID,a@example.com,2026-01-01\n", "email\nx@example.com\n", "Purchase ID,Item Name\nTotals,\n",
	} {
		for kind := range uint8(12) {
			f.Add(kind, []byte(text))
		}
	}
	kinds := []file.Kind{file.Products, file.Customers, file.Orders}
	shops := []string{"", "shopify", "woocommerce", "gumroad"}
	s := newStore(f, dbtest.New(f, dbtest.SQLite, db.Config{}))
	f.Fuzz(func(t *testing.T, choice uint8, text []byte) {
		_, err := s.try(file.Options{Kind: kinds[choice%3], From: shops[choice/3%4], DryRun: true}, text)
		var bad *file.BadLinesError
		if err != nil && (!errors.As(err, &bad) || bad.First[0].Line < 1 || bad.First[0].Problem == "") {
			t.Fatalf("%v", err)
		}
	})
}

// A file that breaks off is an error, not the end.
func TestAFileThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	away := errors.New("the disk is gone")
	for _, text := range []string{"", "title,price\n", "title,price\nA,5\n" + strings.Repeat(" ", 5000) + "\n"} {
		_, err := file.Load(t.Context(), s, io.MultiReader(strings.NewReader(text), broken{away}), file.Options{Store: s.Store, Kind: file.Products})
		require.ErrorIs(t, err, away)
	}
}

type broken struct{ error }

func (b broken) Read([]byte) (int, error) { return 0, b.error }
