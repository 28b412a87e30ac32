package importing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// maxBatchBytes bounds a batch so that it stays below the largest request that a server reads.
const maxBatchBytes = 900 << 10

// Kind is a kind of resource that can be imported.
type Kind string

// The kinds of resource that can be imported.
const (
	Products  Kind = "products"
	Customers Kind = "customers"
	Orders    Kind = "orders"
)

// API is what an import calls: methods of storefront.admin.v1.
type API interface {
	ImportProducts(context.Context, *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error)
	ImportCustomers(context.Context, *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error)
	ImportOrders(context.Context, *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error)
	ListProducts(context.Context, *adminv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error)
}

// Options configure an import.
type Options struct {
	// Store is the store that the rows go to; required.
	Store *storefrontv1.Store
	// Kind is what the lines hold.
	Kind Kind
	// From is the shop whose export the file is; empty means storefront.
	From string
	// Columns are read as fields before the columns of From. Of several for one field, the first that
	// holds something is used.
	Columns []Column
	// Type is the type of products whose line has none; FILE unless set.
	Type storefrontv1.Product_Type
	// Country is the country of phone numbers whose row has none; empty means the store's.
	Country string
	// DateFormat is the form of dates, such as DD/MM/YYYY; empty means what can be read in one way.
	DateFormat string
	// Events sends the events that the same rows would send if they were new.
	Events bool
	// DryRun checks everything and stores nothing.
	DryRun bool
	// SkipBad stores the other lines of a file with bad ones; otherwise nothing of it is stored.
	SkipBad bool
	// Update changes rows that the store has to what the file says; otherwise they are left as they are.
	Update bool
	// Rejects, when not nil, gets the bad rows whole, each with the reason.
	Rejects io.Writer
	// Progress, when not nil, is called after each batch.
	Progress func(Progress)
}

// Column is a column to read as a field; without a field it is left out.
type Column struct{ Name, Field string }

// Progress is how far an import is.
type Progress struct {
	// Storing is false while the file is checked.
	Storing bool
	// Lines is how many rows are done, Bytes how much of the file was read.
	Lines int
	Bytes int64
}

// ErrOptions is an import that cannot begin because its options are wrong.
var ErrOptions = errors.New("import")

// Load imports a file, which it reads twice: first it checks every line, then it stores them in batches. The
// Report is complete also with an error, which is a *BadLinesError if lines are bad and SkipBad is not set, and
// a *FileError if the file as a whole cannot be imported.
func Load(ctx context.Context, api API, in io.Reader, o Options) (*Report, error) {
	l := &reading{Options: o, api: api, report: &Report{}, check: newChecker(), left: map[int]bool{}, rejects: rejects{w: o.Rejects}}
	if err := l.choose(); err != nil {
		return l.report, err
	}
	file, remove, err := seekable(ctx, in)
	if err != nil {
		return l.report, err
	}
	defer remove()
	if o.Kind == Orders {
		if l.products, err = catalogueOf(ctx, api, o.Store.GetId()); err != nil {
			return l.report, err
		}
	}
	if err := l.pass(ctx, file); err != nil || o.DryRun {
		return l.report, errors.Join(err, l.verdict())
	}
	if err := l.verdict(); err != nil {
		return l.report, err
	}
	l.check, l.report.Lines = nil, l.report.Bad+l.report.Repeated
	l.report.Stored, l.report.Changed, l.report.Skipped = 0, 0, 0
	return l.report, l.pass(ctx, file)
}

// verdict is the error of a file that was checked.
func (l *reading) verdict() error {
	if l.report.Bad > 0 && !l.SkipBad {
		return &BadLinesError{l.report}
	}
	return nil
}

// reading is an import under way.
type reading struct {
	Options
	api      API
	layout   string
	source   source
	table    *table // of the pass; nil for objects of the API
	products catalogue
	lowest   map[string]int64 // prices of WooCommerce's variable products, by id and SKU
	in       *counted
	row      int          // the number of the record at hand
	left     map[int]bool // the records that are not stored
	check    *checker     // nil while rows are stored
	rejects  rejects
	report   *Report
	batch    []*entry
	bytes    int
}

// entry is a row of the file on its way into the store.
type entry struct {
	row, line int
	message   proto.Message // nil if the line cannot be read
	// derived is true for a row whose id was made: its e-mail and phone then identify its customer.
	derived bool
	// clears is true for a product whose file says that there is no reference price, if the row has none.
	clears  bool
	bad     []LineError
	lost    []LineError // what an order loses
	keys    []uint64    // of what identifies the row
	skus    []string    // of the items
	unknown []string    // the titles of items of no product
	// The text of the row: an object of the API, or lines of a table.
	object string
	lines  []line
	table  *table
	// place returns the column of a field, its line and its value; nil for an object of the API, whose fields are
	// its columns.
	place func(field string) (column string, line int, value string)
}

// refuse adds a problem of a field, unless the field has one.
func (e *entry) refuse(field, problem string) {
	column, line, value := field, e.line, member(e.object, field)
	if e.place != nil {
		column, line, value = e.place(field)
	}
	for _, b := range e.bad {
		if b.Column == column {
			return
		}
	}
	e.bad = append(e.bad, LineError{Line: line, Column: column, Problem: problem, Value: value})
}

// member returns the value of a field such as customer.email in an object, if it is a text or a number.
func member(object, field string) string {
	var value any
	if json.Unmarshal([]byte(object), &value) != nil {
		return ""
	}
	for name := range strings.SplitSeq(field, ".") {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	switch value.(type) {
	case string, float64:
		return fmt.Sprint(value)
	}
	return ""
}

// errLeftOut is a row that is none to import.
var errLeftOut = errors.New("left out")

// pass reads the file from its beginning and sends its rows, to be checked or to be stored.
func (l *reading) pass(ctx context.Context, file io.ReadSeeker) error {
	next, err := l.open(file)
	if err != nil {
		return err
	}
	l.row = 0
	for ended := false; !ended; {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := next()
		if errors.Is(err, io.EOF) {
			break
		} else if errors.Is(err, errLeftOut) {
			continue
		}
		if bad, is := errors.AsType[*LineError](err); is {
			e.line, e.bad, ended = bad.Line, append(e.bad, *bad), bad.last
		} else if err != nil {
			return err
		}
		l.row++
		if e.row = l.row; l.check == nil && l.left[e.row] {
			continue
		}
		if err := l.add(ctx, e); err != nil {
			return err
		}
	}
	if err := l.send(ctx); err != nil {
		return err
	}
	if l.check == nil {
		return nil
	}
	if l.table != nil {
		l.report.Read, l.report.NotRead = l.table.readColumns(own[l.Kind])
	}
	if l.row == 0 && len(l.report.Notes) == 0 {
		if l.report.Objects {
			return &FileError{"the file has no object: there is nothing to import"}
		}
		return &FileError{"the file has a header and no line below it: there is nothing to import"}
	}
	return nil
}

// choose finds what the options name.
func (l *reading) choose() (err error) {
	fields, known := own[l.Kind]
	if !known {
		return fmt.Errorf("%w: %q must be one of products, customers, orders", ErrOptions, l.Kind)
	}
	shop, known := sources[l.From]
	if !known && l.From != "" && l.From != "storefront" {
		return fmt.Errorf("%w: --from must be one of %s, storefront", ErrOptions, strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
	}
	s, has := shop[l.Kind]
	if known && !has {
		return fmt.Errorf("%w: --from %s has %s only", ErrOptions, l.From, slices.Collect(maps.Keys(shop))[0])
	}
	if s.known = known; !known && l.Kind == Orders {
		s.group, s.words = "reference", map[string]map[string]string{"status": ownStatus}
	}
	if l.layout, err = layoutOf(l.DateFormat); err != nil {
		return err
	}
	l.source, err = s.mapped(fields, l.Columns)
	return err
}

// open decides by the file's first character what it is, and returns what reads its rows; io.EOF is the end. With
// the error of a line that cannot be read it returns what is known of the row.
func (l *reading) open(file io.ReadSeeker) (func() (*entry, error), error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	l.in = &counted{Reader: file}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(l.in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if err := readable(head[:n]); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	l.in.bytes = 0
	text := decoded(l.in)
	begin, _ := text.Peek(headBytes)
	begin = bytes.TrimSpace(begin)
	json := bytes.HasPrefix(begin, []byte("{")) || bytes.HasPrefix(begin, []byte("["))
	switch {
	case json:
		array := begin[0] == '['
		l.report.Objects = array
		if next := objectsOf(text, array); l.source.known || len(l.Columns) > 0 {
			l.table = newObjects(next, l.source)
		} else {
			return l.objects(next), nil
		}
	default:
		if l.table, err = newCSV(text, l.source); err != nil {
			if bad, is := errors.AsType[*LineError](err); is {
				err = &FileError{fmt.Sprintf("line %d %s", bad.Line, bad.Problem)}
			}
			return nil, err
		}
		if err := l.table.complete(l.Kind, l.Columns); err != nil {
			return nil, err
		}
		if l.source.variation != "" && l.lowest == nil {
			if err := l.variations(); err != nil {
				return nil, err
			}
			return l.open(file)
		}
	}
	l.table.leftOut = func(of line, value, why string) {
		if l.check != nil {
			l.report.Notes = remark(l.report.Notes, LineError{Line: of.number, Problem: why, Value: value})
		}
	}
	return l.records(l.table), nil
}

// variations reads the lowest price of the variations of each product, which has none of its own.
func (l *reading) variations() error {
	l.lowest = map[string]int64{}
	for {
		of, err := l.table.take()
		if bad := new(LineError); errors.As(err, &bad) && !bad.last {
			continue // the reader of rows reports it
		} else if err != nil {
			if errors.Is(err, io.EOF) || bad.last {
				return nil
			}
			return err
		}
		r := &record{lines: []line{of}, table: l.table}
		price, err := minorOf(r.value("price"), l.Store.GetCurrency())
		if !strings.Contains(strings.ToLower(r.value("kind")), l.source.variation) || err != nil {
			continue
		}
		parent := strings.TrimPrefix(r.value("parent"), "id:")
		if lowest, has := l.lowest[parent]; !has || price < lowest {
			l.lowest[parent] = price
		}
	}
}

// objects reads objects of the API.
func (l *reading) objects(next func() ([]byte, int, error)) func() (*entry, error) {
	return func() (*entry, error) {
		object, at, err := next()
		e := &entry{line: at, object: string(object)}
		if err != nil {
			return e, err
		}
		var m proto.Message
		switch l.Kind {
		case Products:
			m = &storefrontv1.Product{}
		case Customers:
			m = &storefrontv1.Customer{}
		case Orders:
			m = &storefrontv1.Order{}
		}
		if invalid, ok := errors.AsType[*apijson.Invalid](apijson.Unmarshal(object, m, reasonColumn)); ok {
			if len(invalid.Fields) == 0 {
				return e, &LineError{Line: at, Problem: invalid.Message}
			}
			for _, f := range invalid.Fields {
				e.refuse(f.Name, f.Message)
			}
		}
		e.message = m
		if l.Kind == Products && !bytes.Contains(object, []byte(`"priceAmount"`)) {
			e.refuse("priceAmount", "is required")
		}
		e.clears = bytes.Contains(object, []byte(`"compareAtAmount"`))
		l.complete(e, "storefront")
		return e, nil
	}
}

// records reads the records of a table.
func (l *reading) records(t *table) func() (*entry, error) {
	titles := map[string]bool{}
	return func() (*entry, error) {
		r, err := t.next()
		e := &entry{line: r.lines[0].number, lines: r.lines, table: t}
		if err != nil {
			return e, err
		}
		b := &builder{record: r, reading: l, entry: e}
		if e.place = b.place; b.priceless() {
			t.leftOut(r.lines[0], r.value("title"), "left out: it has no price, and the file has no variations of it")
			return nil, errLeftOut
		}
		switch l.Kind {
		case Products:
			p := b.product()
			if e.message = p; p.GetId() == "" && p.GetTitle() != "" {
				if titles[p.GetTitle()] {
					e.refuse("title", "is that of another line too; give products of one title an id column")
				}
				titles[p.GetTitle()] = true
			}
		case Customers:
			e.message = b.customer()
		case Orders:
			e.message = b.order()
		}
		l.complete(e, first(l.From, "storefront"))
		return e, nil
	}
}

// add adds a row to the batch. It first sends the batch if that is full, or if its rows are to be treated
// in another way than this one.
func (l *reading) add(ctx context.Context, e *entry) error {
	size := 0
	if e.message != nil {
		size = proto.Size(e.message)
	}
	full := len(l.batch) >= BatchRows || l.bytes+size > maxBatchBytes
	if n := len(l.batch); n > 0 && (full || l.batch[0].derived != e.derived || l.batch[0].clears != e.clears) {
		if err := l.send(ctx); err != nil {
			return err
		}
	}
	l.batch = append(l.batch, e)
	l.bytes += size
	return nil
}

// send checks or stores the batch.
func (l *reading) send(ctx context.Context) error {
	batch, r := l.batch, l.report
	l.batch, l.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	var rows []*entry
	for _, e := range batch {
		switch {
		case e.message == nil:
		case l.check != nil && l.repeats(e):
			l.left[e.row] = true
			r.Repeated++
			r.Lines++
		default:
			rows = append(rows, e)
		}
	}
	options := &adminv1.ImportOptions{
		Events: l.Events, DryRun: l.check != nil, MatchCustomers: batch[0].derived, Update: l.Update, ClearCompareAt: batch[0].clears,
	}
	// With what is refused nothing of a batch is stored or counted: the others are sent again.
	for len(rows) > 0 {
		out, err := l.call(ctx, rows, options)
		if refused, ok := errors.AsType[*apierr.Refusal](err); ok && refused.Code == apierr.PayloadTooLarge && len(rows) == 1 {
			rows[0].bad = append(rows[0].bad, LineError{Line: rows[0].line,
				Problem: "is larger than the 1 MiB that a server reads; import the file with --database-url"})
			out, err = nil, nil
		}
		if err != nil {
			return err
		}
		for _, f := range out.GetRefused() {
			rows[f.GetIndex()].refuse(f.GetField(), f.GetMessage())
		}
		good := slices.DeleteFunc(slices.Clone(rows), func(e *entry) bool { return len(e.bad) > 0 })
		if len(good) == len(rows) {
			r.Lines += len(rows)
			r.Stored, r.Changed, r.Skipped = r.Stored+int(out.GetStored()), r.Changed+int(out.GetChanged()),
				r.Skipped+int(out.GetSkipped())
			break
		}
		rows = good
		if l.check == nil && !l.SkipBad {
			break
		}
	}
	if err := l.note(batch); err != nil {
		return err
	}
	if l.Progress != nil {
		l.Progress(Progress{l.check == nil, r.Lines, l.in.bytes})
	}
	if l.check == nil && r.Bad > 0 && !l.SkipBad {
		return fmt.Errorf("the store has changed since the file was checked: %w; %d rows are stored: run the import again",
			&BadLinesError{r}, r.Stored)
	}
	return nil
}

// note reports what is to be said about the rows of a batch.
func (l *reading) note(batch []*entry) error {
	for _, e := range batch {
		for _, bad := range e.bad {
			l.report.Problems = remark(l.report.Problems, bad)
		}
		switch {
		case len(e.bad) > 0:
			for _, key := range e.keys { // a further line may have it right
				delete(l.check.seen, key)
			}
			l.left[e.row] = true
			l.report.Bad++
			l.report.Lines++
			if err := l.rejects.add(e); err != nil {
				return fmt.Errorf("write the rejected rows: %w", err)
			}
		case l.check != nil && !l.left[e.row]:
			for _, lost := range e.lost {
				l.report.Notes = remark(l.report.Notes, lost)
			}
			l.report.unknown(e.unknown)
		}
	}
	return nil
}

// call sends rows to the API.
func (l *reading) call(ctx context.Context, rows []*entry, options *adminv1.ImportOptions) (*adminv1.ImportResponse, error) {
	store := l.Store.GetId()
	switch l.Kind {
	case Products:
		return l.api.ImportProducts(ctx, &adminv1.ImportProductsRequest{Store: store,
			Products: messages[*storefrontv1.Product](rows), Options: options})
	case Customers:
		return l.api.ImportCustomers(ctx, &adminv1.ImportCustomersRequest{Store: store,
			Customers: messages[*storefrontv1.Customer](rows), Options: options})
	default:
		return l.api.ImportOrders(ctx, &adminv1.ImportOrdersRequest{Store: store, Orders: messages[*storefrontv1.Order](rows),
			Options: options})
	}
}

func messages[M proto.Message](rows []*entry) []M {
	out := make([]M, len(rows))
	for i, e := range rows {
		out[i] = e.message.(M)
	}
	return out
}
