// Package importfile reads what people have: files of other shops, of their own lists, and exports of stores. Load reads a file
// twice, and an Importer of server/transfer checks and stores its batches, in this process or on a server:
//
//	file ─► lines ─► records ─► messages of the API ─► batches ─► Importer
//	           └─ columns: --from, --map   └─ ids from the store and one's own ids
//	first pass: every batch is checked, nothing is stored, and a checker decides which rows are one
//	between, if rows of customers became part of others: what they add to those; second pass: every batch is stored
//
// encoding.go takes bytes to letters, text.go and json.go letters to lines and objects, table.go and source.go find the
// columns, date.go and value.go read values, build.go makes messages; rows.go sends the rows of an export as they are.
//
// One's own ids become UUIDs of version 5 (RFC 9562, 5.5) of the store, the kind, the source and the own id, so that the same
// row is the same object whenever it is imported.
package importfile

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/id"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

// maxBatchBytes bounds a batch so that it stays below the largest request that a server reads.
const maxBatchBytes = 900 << 10

// API is what an import calls: methods of storefront.admin.v1.
type API interface {
	ImportProducts(context.Context, *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error)
	ImportCustomers(context.Context, *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error)
	ImportOrders(context.Context, *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error)
	ImportRows(context.Context, *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error)
	FinishImport(context.Context, *adminv1.FinishImportRequest) (*adminv1.FinishImportResponse, error)
	ListProducts(context.Context, *adminv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error)
}

// Options configure an import.
type Options struct {
	// Store is the store that the rows go to; required.
	Store *storefrontv1.Store
	// Kind is what the lines hold.
	Kind transfer.Kind
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
	// TimeZone is the zone of dates that name none, such as Europe/Paris; empty means UTC.
	TimeZone string
	// Encoding is the name of the file's encoding in the WHATWG Encoding Standard, such as windows-1250. Empty means
	// UTF-8, or else Windows-1252. A byte order mark takes precedence.
	Encoding string
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
	// batchRows is how many rows a batch has at most; BatchRows but in tests.
	batchRows int
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
// Report is complete also with an error, which is a *BadLinesError if lines are bad and SkipBad is not set or no
// other lines are left, and a *FileError if the file as a whole cannot be imported.
func Load(ctx context.Context, api API, in io.Reader, o Options) (*Report, error) {
	r := &Report{}
	l := &reading{Options: o, api: api, report: r, left: map[int]bool{}, rejects: rejects{w: o.Rejects},
		check: newChecker(o.Update), id: id.At(time.Now()), merged: map[int]merge{}, phoneless: map[int]bool{}}
	var err error
	if l.source, err = sourceOf(o); err != nil {
		return r, err
	}
	if l.dates, err = datesOf(o.DateFormat, o.TimeZone); err != nil {
		return r, err
	}
	if l.encoding, err = encodingOf(o.Encoding); err != nil {
		return r, err
	}
	var remove func()
	if l.file, remove, err = seekable(ctx, in); err != nil {
		return r, err
	}
	defer remove()
	if l.encoding, err = recognize(l.file, l.encoding); err != nil {
		return r, err
	}
	if o.Kind == transfer.Orders {
		if l.products, err = catalogueOf(ctx, api, o.Store.GetId()); err != nil {
			return r, err
		}
	}
	if err := l.pass(ctx); err != nil {
		return r, err
	}
	l.check = nil
	if err := l.gather(ctx); err != nil {
		return r, err
	}
	switch {
	case r.Bad > 0 && (!o.SkipBad || r.Bad+r.LeftOut == r.Lines):
		return r, &BadLinesError{r}
	case o.DryRun:
		return r, nil
	}
	r.Lines = r.Bad + r.Repeated + r.Merged + r.LeftOut
	r.Stored, r.Changed, r.Skipped = 0, 0, 0
	if err := l.pass(ctx); err != nil || r.Stored+r.Changed == 0 {
		return r, err
	}
	if _, err := api.FinishImport(ctx, &adminv1.FinishImportRequest{
		Store: o.Store.GetId(), Kind: string(o.Kind),
		Stored: int32(r.Stored), Changed: int32(r.Changed), Skipped: int32(r.Skipped), //nolint:gosec // No file has so many rows.
	}); err != nil {
		return r, fmt.Errorf("tell the platform that the import is finished: %w", err)
	}
	return r, nil
}

// reading is an import under way.
type reading struct {
	Options
	id       uuid.UUID // of the import, under which the journal has one entry for all batches
	api      API
	dates    dates
	encoding textEncoding
	source   source
	wrapped  []string // the path to the list of rows in the object that a JSON file is
	table    *table   // of the pass
	products catalogue
	file     io.ReadSeeker
	row      int          // the number of the record at hand
	left     map[int]bool // the records that are not stored
	check    *checker     // nil once the file is checked
	// What was decided of the records that become part of others, of what those get, and of phones that are left out.
	merged      map[int]merge
	completions map[int]*completion
	phoneless   map[int]bool
	rejects     rejects
	report      *Report
	batch       []*entry
	bytes       int
}

// entry is a row of the file on its way into the store.
type entry struct {
	row, line int
	message   proto.Message // nil if the line cannot be read
	// own is true if the id of the row's customer is not made of the e-mail or the phone.
	own bool
	// titled is true for a product that is known by its title.
	titled bool
	// clears is true for a product whose file says that there is no reference price, if the row has none.
	clears bool
	// unpriced is true for a product whose row has no price: that of the store's product stays.
	unpriced bool
	bad      []LineError
	lost     []LineError // what a row loses, and what was read otherwise than it stands there
	skus     []string    // of the items
	// The places of items without a price, and whether one lacks what a new order needs.
	unpricedItems []int
	lacking       bool
	unknown       []string // the titles of items of no product
	// What identifies the row among those of its kind, and a hash of all of it.
	identities []identity
	sum        uint64
	contact    transfer.Contact
	slugs      [2]string // of which a product without a slug gets one
	// What the checker says of the row: remarks, whether the store has it, and the phone that is left out.
	notes     []LineError
	there     bool
	fate      fate
	id        string // of the customer, if another stands in the message
	phone     *string
	phoneless bool
	standIn   bool // for the e-mail of an order's customer whom a row further up makes
	lines     []line
	table     *table
	// place returns the column of a field, its line and its value.
	place func(field string) (column string, line int, value string)
}

// apiWord are words in complaints of the API's rules that CSV does not have.
var apiWord = regexp.MustCompile(`\b(priceAmount|compareAtAmount|paidAt|null)\b`)

// refuse adds a problem of a field, unless the field has one.
func (e *entry) refuse(field, problem string) { e.refuseWith(field, problem, "") }

// refuseWith adds a problem of a field that another line or customer is part of.
func (e *entry) refuseWith(field, problem, with string) {
	column, line, value := e.place(field)
	if e.table.separator != 0 {
		problem = apiWord.ReplaceAllStringFunc(problem, func(word string) string {
			if word == "null" {
				return "empty"
			}
			word, _, _ = e.place(word)
			return word
		})
	}
	if problem == transfer.OtherStoresID {
		problem += "; --map " + column + "= imports the file without these ids"
	}
	if !slices.ContainsFunc(e.bad, func(b LineError) bool { return b.Column == column }) {
		e.bad = append(e.bad, LineError{Line: line, Column: column, Problem: problem, Value: value, With: with})
	}
}

// pass reads the file from its beginning and sends its rows, to be checked or to be stored.
func (l *reading) pass(ctx context.Context) error {
	next, err := l.open()
	if err != nil {
		return err
	}
	for l.row = 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad, is := errors.AsType[*LineError](err); is {
			e.line, e.bad = bad.Line, append(e.bad, *bad)
		} else if err != nil {
			return err
		}
		l.row++
		e.row = l.row
		if _, merged := l.merged[e.row]; l.check == nil && (l.left[e.row] || merged) {
			continue
		}
		l.complete(e)
		if err := l.add(ctx, e); err != nil {
			return err
		}
	}
	if err := l.send(ctx); err != nil || l.check == nil {
		return err
	}
	l.report.Read, l.report.NotRead = l.table.readColumns(known().Fields[l.Kind])
	if l.row == 0 && len(l.report.Notes) == 0 {
		if l.report.Objects {
			return &FileError{"the file has no object: there is nothing to import"}
		}
		return &FileError{"the file has a header and no line below it: there is nothing to import"}
	}
	l.report.Notes = append(l.encoding.remarks(l.table.letters), l.report.Notes...)
	return nil
}

// open decides by the file's first character what it is, and returns what reads its rows; io.EOF is the end. With
// the error of a line that cannot be read it returns what is known of the row.
func (l *reading) open() (func() (*entry, error), error) {
	text, err := l.text()
	if err != nil {
		return nil, err
	}
	begin, _ := text.Peek(headBytes)
	head := slices.Clone(begin)
	begin = bytes.TrimSpace(begin)
	strict := !l.source.shop && len(l.Columns) == 0
	isArray, isObject := bytes.HasPrefix(begin, []byte("[")), bytes.HasPrefix(begin, []byte("{"))
	if isObject && l.wrapped == nil {
		if l.wrapped, err = wrappedIn(text, newTable(l.source), l.Kind); err != nil {
			return nil, err
		}
		if text, err = l.text(); err != nil {
			return nil, err
		}
	}
	if l.report.Objects = isArray || l.wrapped != nil; l.report.Objects {
		list := newJSONList(text, l.wrapped, l.encoding)
		l.table = newObjects(list.next, l.source, l.encoding, strict)
		list.passed = l.table.pass
		return l.records(l.table), nil
	}
	if isObject {
		l.table = newObjects(newLines(text, l.encoding).next, l.source, l.encoding, strict)
		return l.records(l.table), nil
	}
	if l.table, err = newCSV(text, l.source, l.encoding); err != nil {
		return nil, err
	}
	columns := needed[l.Kind]
	if l.Update {
		columns = keys[l.Kind]
	}
	if err := l.table.complete(columns, l.Columns); err != nil {
		if title := l.table.titled(head, columns, l.Columns); title != nil {
			return nil, title
		}
		if l.encoding.assumed {
			err = &FileError{err.Error() + "; it is not UTF-8 and was read as Windows-1252, unless --encoding names another"}
		}
		return nil, err
	}
	return l.records(l.table), nil
}

// text returns the file's text from its beginning.
func (l *reading) text() (*bufio.Reader, error) {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return l.encoding.reader(l.file), nil
}

// records reads the records of a table. Variable products wait for the end of the file: they have the lowest price of
// their variations, which stand below them.
func (l *reading) records(t *table) func() (*entry, error) {
	var waiting []*builder
	lowest := map[string]int64{} // by the id or SKU of the product
	return func() (*entry, error) {
		for {
			r, err := t.next()
			b := &builder{record: r, reading: l, entry: &entry{line: r.lines[0].number, lines: r.lines, table: t, bad: r.lines[0].bad}}
			b.entry.place = b.place
			ended := errors.Is(err, io.EOF) && len(waiting) > 0
			if ended {
				b, waiting, err = waiting[0], waiting[1:], nil
				if b.price, b.priced = b.lowestOf(lowest); !b.priced {
					if err := l.leaveOut(b.record, b.value("title"),
						"left out: it has no price, and the file has no published variation of it"); err != nil {
						return b.entry, err
					}
					continue
				}
			}
			if err != nil {
				return b.entry, err
			}
			for _, line := range r.lines {
				b.entry.lost = append(b.entry.lost, line.notes...)
			}
			kind := strings.ToLower(b.value("kind"))
			why, skipped := l.skips(b.record)
			switch {
			case skipped:
				if err := l.leaveOut(b.record, b.value(l.source.SkipBy), why); err != nil {
					return b.entry, err
				}
			case t.Variation != "" && strings.Contains(kind, t.Variation):
				if b.vary(lowest); len(b.entry.bad) > 0 { // its product would get another price
					return b.entry, nil
				}
				if err := l.leaveOut(b.record, b.value("kind"),
					"left out: a variation is no product of its own; its product gets the lowest price of its variations"); err != nil {
					return b.entry, err
				}
			case t.Variable != "" && strings.Contains(kind, t.Variable) && b.value("price") == "" && !ended:
				waiting = append(waiting, b)
			default:
				b.build()
				l.identified(b.entry, cmp.Or(l.From, "storefront"))
				return b.entry, nil
			}
		}
	}
}

// leaveOut reports a record that is left out.
func (l *reading) leaveOut(r *record, value, why string) error {
	if l.check == nil {
		return nil
	}
	l.report.LeftOut++
	l.report.Lines++
	return l.leave(r.table, r.lines, []LineError{{Line: r.lines[0].number, Problem: why, Value: value}})
}

// skips reports whether a record is none that is imported, and why.
func (l *reading) skips(r *record) (why string, skipped bool) {
	for word := range strings.SplitSeq(r.value(l.source.SkipBy), ",") {
		if why, skipped = l.source.Skip[statusWord(word)]; skipped {
			return why, true
		}
	}
	return "", false
}

// add adds a row to the batch. It first sends the batch if that is full, or if its rows are to be treated
// in another way than this one.
func (l *reading) add(ctx context.Context, e *entry) error {
	size := 0
	if e.message != nil {
		size = proto.Size(e.message)
	}
	full := len(l.batch) >= cmp.Or(l.batchRows, transfer.BatchRows) || l.bytes+size > maxBatchBytes
	if len(l.batch) > 0 && (full || l.batch[0].clears != e.clears || l.batch[0].unpriced != e.unpriced) {
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
		if e.message != nil {
			l.identify(e)
			rows = append(rows, e)
		}
	}
	options := &adminv1.ImportOptions{
		Events: l.Events, DryRun: l.check != nil, MatchCustomers: true, Update: l.Update, ClearCompareAt: batch[0].clears,
		KeepPrice: batch[0].unpriced, ImportId: l.id.String(),
	}
	// With what is refused nothing of a batch is stored or counted: the others are sent again. A row is told from those
	// further up only once it is known which of them are good.
	var raw *adminv1.ImportResponse // to all rows of customers, of whom the store may have some who become part of others
	if l.check != nil && l.Kind == transfer.Customers {
		var err error
		if raw, err = l.call(ctx, rows, options); err != nil {
			return err
		}
		l.check.learn(raw.GetCustomers())
	}
	for len(rows) > 0 {
		v := l.check.judge(rows)
		out := raw
		if raw = nil; out == nil || !v.whole(rows) {
			var err error
			if out, err = l.call(ctx, v.fresh, options); err != nil {
				return err
			}
		}
		if l.check.learn(out.GetCustomers()) {
			continue
		}
		for _, f := range out.GetRefused() {
			v.fresh[f.GetIndex()].refuse(f.GetField(), f.GetMessage())
		}
		good := slices.DeleteFunc(slices.Clone(rows), func(e *entry) bool { return len(e.bad) > 0 })
		if len(good) < len(rows) {
			if rows = good; l.check == nil && !l.SkipBad {
				break
			}
			continue
		}
		if l.check.skip(out, v.fresh) { // without bad rows, one of which may have the id of another row
			continue
		}
		for _, c := range v.clashing {
			c.refuseWith(c.field, c.problem, c.with.String())
		}
		if l.check != nil {
			l.accept(v, rows, batch[0].row)
		}
		r.Lines += len(v.fresh)
		if l.check != nil && l.Kind == transfer.Customers {
			// The API sees no further than the batch: it takes a row for new whose e-mail a row above gives a customer.
			out = &adminv1.ImportResponse{}
			for _, e := range v.fresh {
				*[]*int32{&out.Stored, &out.Changed, &out.Skipped}[e.fate]++
			}
		}
		r.Stored, r.Changed, r.Skipped = r.Stored+int(out.GetStored()), r.Changed+int(out.GetChanged()), r.Skipped+int(out.GetSkipped())
		break
	}
	if err := l.note(batch); err != nil {
		return err
	}
	if l.Progress != nil {
		at, _ := l.file.Seek(0, io.SeekCurrent)
		l.Progress(Progress{l.check == nil, r.Lines, at})
	}
	if l.check == nil && r.Bad > 0 && !l.SkipBad {
		return fmt.Errorf("the store has changed since the file was checked: %w; %s rows are stored: run the import again",
			&BadLinesError{r}, humanize.Comma(int64(r.Stored)))
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
			l.left[e.row] = true
			l.report.Bad++
			l.report.Lines++
			if err := l.rejects.add(e.table, e.lines, e.bad); err != nil {
				return fmt.Errorf("write the rejected rows: %w", err)
			}
		case l.check == nil:
		case l.left[e.row]:
			if err := l.leave(e.table, e.lines, e.notes); err != nil {
				return err
			}
		default:
			for _, note := range slices.Concat(e.notes, e.lost) {
				l.report.Notes = remark(l.report.Notes, note)
			}
			l.report.unknown(e.unknown)
		}
	}
	return nil
}

// leave reports a row that is left out, and writes it where rejected rows go.
func (l *reading) leave(t *table, lines []line, why []LineError) error {
	for _, note := range why {
		l.report.Notes = remark(l.report.Notes, note)
	}
	if err := l.rejects.add(t, lines, why); err != nil {
		return fmt.Errorf("write the rows that are left out: %w", err)
	}
	return nil
}

// accept keeps what the checker says of a batch that can be stored; rows are its good ones, first is its first one.
func (l *reading) accept(v verdict, rows []*entry, first int) {
	l.check.accept()
	for _, e := range v.repeated {
		l.left[e.row] = true
		l.report.Repeated++
		l.report.Lines++
	}
	for _, e := range rows {
		if e.phoneless {
			l.phoneless[e.row] = true
		}
	}
	for _, e := range v.fresh {
		if (e.there || e.fate == skipped) && !l.Update && len(e.notes) == 0 {
			e.notes, e.lost = []LineError{{Line: e.line, Problem: "is in the store already and left as it is"}}, nil
		}
	}
	for _, m := range l.check.merges {
		l.merged[m.row] = m
		l.report.Merged++
		if m.row < first {
			l.report.Stored-- // so far it was a customer of its own
		} else {
			l.report.Lines++
		}
		l.report.Notes = remark(l.report.Notes, m.note)
	}
}

// call sends rows to the API.
func (l *reading) call(ctx context.Context, rows []*entry, o *adminv1.ImportOptions) (out *adminv1.ImportResponse, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	store := l.Store.GetId()
	switch l.Kind {
	case transfer.Products:
		out, err = l.api.ImportProducts(ctx,
			&adminv1.ImportProductsRequest{Store: store, Products: messages[*storefrontv1.Product](rows), Options: o})
	case transfer.Customers:
		out, err = l.api.ImportCustomers(ctx,
			&adminv1.ImportCustomersRequest{Store: store, Customers: messages[*storefrontv1.Customer](rows), Options: o})
	case transfer.Orders:
		out, err = l.api.ImportOrders(ctx,
			&adminv1.ImportOrdersRequest{Store: store, Orders: messages[*storefrontv1.Order](rows), Options: o})
	}
	if apierr.Is(err, apierr.PayloadTooLarge) && len(rows) == 1 {
		return &adminv1.ImportResponse{Refused: []*adminv1.RefusedRow{
			{Message: "is larger than the 1 MiB that a server reads; import the file with --database-url"},
		}}, nil
	}
	return out, err
}

func messages[M proto.Message](rows []*entry) []M {
	out := make([]M, len(rows))
	for i, e := range rows {
		out[i] = e.message.(M)
	}
	return out
}
