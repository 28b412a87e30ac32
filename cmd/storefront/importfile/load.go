// Package importfile reads people's files: exports of other shops, their own lists, and exports of stores. Load reads a file
// twice, and an Importer of server/transfer checks and stores its batches, in this process or on a server:
//
//	file ─► lines ─► records ─► messages of the API ─► batches ─► Importer
//	           └─ columns: --from, --map   └─ ids from the store and the file's ids
//	first pass: every batch is checked, nothing is stored, and a checker finds repeated rows
//	between the passes: the values of customers' rows that are merged into other rows are collected
//	second pass: every batch is stored
//
// encoding.go decodes bytes to letters, text.go and json.go split letters into lines and objects, table.go and source.go find
// the columns, date.go and value.go read values, build.go builds messages; rows.go sends the rows of an export unchanged.
//
// An id in the file becomes a UUID of version 5 (RFC 9562, 5.5), derived from the store, the kind, the source and the id, so
// that a row is the same object at every import.
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

// maxBatchBytes is a little less than the largest request that a server reads. A larger row is a batch of its own.
const maxBatchBytes = 900 << 10

// API has the methods of storefront.admin.v1 that an import calls.
type API interface {
	ImportProducts(context.Context, *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error)
	ImportCustomers(context.Context, *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error)
	ImportOrders(context.Context, *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error)
	ImportRows(context.Context, *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error)
	FinishImport(context.Context, *adminv1.FinishImportRequest) (*adminv1.FinishImportResponse, error)
	WithStore(ctx context.Context, store string) (context.Context, error)
	ListProducts(context.Context, *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error)
}

// Options configure an import.
type Options struct {
	// Store is required.
	Store *storefrontv1.Store
	Kind  transfer.Kind
	// From is the shop that exported the file, such as shopify. Empty means the columns of storefront, or a person's own file.
	From string
	// Columns maps columns to fields before those of From. Of several columns of a field, the first with a value is read.
	Columns []Column
	// Type is that of products and order items whose row names none; FILE unless set.
	Type storefrontv1.Product_Type
	// Country is that of phones in rows without a country; empty means the store's.
	Country string
	// DateFormat is such as DD/MM/YYYY; empty accepts all unambiguous dates.
	DateFormat string
	// TimeZone, such as Europe/Paris, is that of dates that name none. Empty means UTC.
	TimeZone string
	// Encoding is a name such as windows-1250. Empty means UTF-8, or else Windows-1252. A byte order mark takes precedence.
	Encoding string
	// Events is true if each row sends the events of an object that is created now.
	Events bool
	// DryRun checks everything and stores nothing.
	DryRun bool
	// SkipBad stores the good lines of a file that has bad lines, instead of nothing.
	SkipBad bool
	// Update sets stored objects to the file's values. Without it only empty fields of a customer found by e-mail or phone are
	// set.
	Update bool
	// Rejects, if not nil, gets the rows that are bad, repeated or left out, with the reason.
	Rejects io.Writer
	// Progress, if not nil, is called after each batch.
	Progress func(Progress)
	// batchRows is transfer.BatchRows, except in tests.
	batchRows int
}

// Column reads the column Name as Field. An empty Field ignores the column.
type Column struct{ Name, Field string }

// Progress is the progress of an import.
type Progress struct {
	// Storing is false while the rows are only being checked.
	Storing bool
	// Lines is how many rows are checked or stored; Bytes is how much of the file has been read for that.
	Lines int
	Bytes int64
}

// ErrOptions means that the import cannot begin.
var ErrOptions = errors.New("import")

// Load reads a file twice: to check every line, and to store them in batches. The Report is complete even with an error: a
// *FileError if nothing can be imported, or a *BadLinesError unless SkipBad is set and good lines are left.
func Load(ctx context.Context, api API, in io.Reader, o Options) (*Report, error) {
	r := &Report{}
	l := &loader{Options: o, api: api, report: r, excluded: map[int]bool{}, rejects: rejects{w: o.Rejects},
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
	if err := l.collectMerged(ctx); err != nil {
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
		Stored: int32(r.Stored), Changed: int32(r.Changed), Skipped: int32(r.Skipped), //nolint:gosec // No file has 2^31 rows.
	}); err != nil {
		return r, fmt.Errorf("tell the platform that the import is finished: %w", err)
	}
	return r, nil
}

type loader struct {
	Options
	id       uuid.UUID
	api      API
	dates    dates
	encoding textEncoding
	source   source
	listPath []string // the members that lead to the list of rows in a JSON object, or nil
	table    *table
	products catalogue
	file     io.ReadSeeker
	row      int // number of the current record, from 1
	excluded map[int]bool
	check    *checker // nil after the first pass
	// What the first pass and collectMerged found out, by a row's number: which are merged into others, what they get from
	// those, and whose phone another customer has.
	merged      map[int]merge
	completions map[int]*completion
	phoneless   map[int]bool
	rejects     rejects
	report      *Report
	batch       []*entry
	bytes       int
}

// entry is a row of the file.
type entry struct {
	row, line int
	message   proto.Message // nil if the line cannot be read
	// hasCustomerID is true if the customer's id is the file's, not derived from the e-mail or phone.
	hasCustomerID bool
	// idFromTitle is true for a product without an id in the file.
	idFromTitle bool
	// clearsCompareAt: the row has a column or member for a reference price, so an update clears the stored one if it is empty.
	clearsCompareAt bool
	// unpriced is true if Update is set and a product has no price, so that the stored one stays.
	unpriced bool
	bad      []LineError
	lost     []LineError // remarks on values that are left out, or read differently than written
	skus     []string
	// unpricedItems are indexes. lacksPrice is true if Update is set and a price could not be computed: the row can then change
	// a stored order, but create none.
	unpricedItems []int
	lacksPrice    bool
	unknown       []string
	// identities must be unique in the file; sum is a hash of the whole row.
	identities []identity
	sum        uint64
	contact    transfer.Contact
	slugs      [2]string // the slug that the store would make for a product without one, and that if it is taken
	// What the checker found out: remarks, whether the store already has the object, and what happens to a customer.
	notes         []LineError
	stored        bool
	fate          fate
	id            string // the customer's id from the file, while the message has a stored customer's; otherwise ""
	phone         *string
	phoneless     bool
	inventedEmail bool // true if matchBuyer gave an order's customer an invented e-mail
	lines         []line
	table         *table
	locate        func(field string) (column string, line int, value string)
}

// apiWord matches what refuseWith replaces in messages: a field by the file's column, and null by "empty".
var apiWord = regexp.MustCompile(`\b(priceAmount|compareAtAmount|paidAt|null)\b`)

// refuse makes the row bad. Further problems of the same column are dropped.
func (e *entry) refuse(field, problem string) { e.refuseWith(field, problem, "") }

// refuseWith is refuse for a conflict with related, another line or a customer; "" means none.
func (e *entry) refuseWith(field, problem, related string) {
	column, line, value := e.locate(field)
	if e.table.separator != 0 {
		problem = apiWord.ReplaceAllStringFunc(problem, func(word string) string {
			if word == "null" {
				return "empty"
			}
			word, _, _ = e.locate(word)
			return word
		})
	}
	if problem == transfer.OtherStoresID {
		problem += "; --map " + column + "= imports the file without these ids"
	}
	if !slices.ContainsFunc(e.bad, func(b LineError) bool { return b.Column == column }) {
		e.bad = append(e.bad, LineError{Line: line, Column: column, Problem: problem, Value: value, Related: related})
	}
}

// pass sends the file's rows in batches: the first pass checks them, the second stores them.
func (l *loader) pass(ctx context.Context) error {
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
		if bad, ok := errors.AsType[*LineError](err); ok {
			e.line, e.bad = bad.Line, append(e.bad, *bad)
		} else if err != nil {
			return err
		}
		l.row++
		e.row = l.row
		if _, merged := l.merged[e.row]; l.check == nil && (l.excluded[e.row] || merged) {
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
	l.report.Read, l.report.NotRead = l.table.readColumns(knownSources().Fields[l.Kind])
	if l.row == 0 && len(l.report.Notes) == 0 {
		if l.report.Objects {
			return &FileError{"the file has no object: there is nothing to import"}
		}
		return &FileError{"the file has a header and no line below it: there is nothing to import"}
	}
	if kept := l.table.columnsIn(knownSources().Kept[l.Kind]); l.Update && len(kept) > 0 && l.report.Changed+l.report.Skipped > 0 {
		l.report.Notes = append(l.report.Notes, &Remark{Problem: "--update leaves the values of these columns as the store has them: " +
			strings.Join(kept, ", ")})
	}
	l.report.Notes = append(l.encoding.remarks(l.table.letters), l.report.Notes...)
	return nil
}

// open detects the format by the file's first character. The returned function ends with io.EOF, and for an unreadable line
// returns an error and an entry with what was read.
func (l *loader) open() (func() (*entry, error), error) {
	text, err := l.text()
	if err != nil {
		return nil, err
	}
	begin, _ := text.Peek(headBytes)
	head := slices.Clone(begin)
	begin = bytes.TrimSpace(begin)
	strict := !l.source.shop && len(l.Columns) == 0
	isArray, isObject := bytes.HasPrefix(begin, []byte("[")), bytes.HasPrefix(begin, []byte("{"))
	if isObject && l.listPath == nil {
		if l.listPath, err = findListPath(text, newTable(l.source), l.Kind); err != nil {
			return nil, err
		}
		if text, err = l.text(); err != nil {
			return nil, err
		}
	}
	if l.report.Objects = isArray || l.listPath != nil; l.report.Objects {
		list := newJSONList(text, l.listPath, l.encoding)
		l.table = newObjects(list.next, l.source, l.encoding, strict)
		list.onSkip = l.table.addUnread
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
	if err := l.table.checkColumns(columns, l.Columns); err != nil {
		if title := l.table.titleError(head, columns, l.Columns); title != nil {
			return nil, title
		}
		if l.encoding.assumed {
			err = &FileError{err.Error() + "; it is not UTF-8 and was read as Windows-1252, unless --encoding names another"}
		}
		return nil, err
	}
	return l.records(l.table), nil
}

func (l *loader) text() (*bufio.Reader, error) {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return l.encoding.reader(l.file), nil
}

// records returns a function that ends with io.EOF. Products that get their variations' lowest price come last, because
// variations come later in the file.
func (l *loader) records(t *table) func() (*entry, error) {
	var waiting []*builder
	lowest := map[string]int64{} // the lowest price of a product's variations, by the product's id or SKU
	return func() (*entry, error) {
		for {
			r, err := t.next()
			b := &builder{record: r, loader: l, entry: &entry{line: r.lines[0].number, lines: r.lines, table: t, bad: r.lines[0].bad}}
			b.entry.locate = b.locate
			ended := errors.Is(err, io.EOF) && len(waiting) > 0
			if ended {
				b, waiting, err = waiting[0], waiting[1:], nil
				if b.price, b.priced = b.lowestPrice(lowest); !b.priced {
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
			reason, skipped := l.skips(b.record)
			switch {
			case skipped:
				if err := l.leaveOut(b.record, b.value(l.source.SkipBy), reason); err != nil {
					return b.entry, err
				}
			case t.Variation != "" && strings.Contains(kind, t.Variation):
				// A bad variation is a bad row, because the product may get a wrong lowest price.
				if b.addVariation(lowest); len(b.entry.bad) > 0 {
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
				l.setIDs(b.entry, cmp.Or(l.From, "storefront"))
				return b.entry, nil
			}
		}
	}
}

// leaveOut reports a record that is not imported with value beside reason, in the first pass only.
func (l *loader) leaveOut(r *record, value, reason string) error {
	if l.check == nil {
		return nil
	}
	l.report.LeftOut++
	l.report.Lines++
	return l.reportLeftOut(r.table, r.lines, []LineError{{Line: r.lines[0].number, Problem: reason, Value: value}})
}

// skips reports whether a value, such as the status of an unfinished checkout, leaves a record out. sources.yaml has the
// reason.
func (l *loader) skips(r *record) (reason string, skipped bool) {
	for word := range strings.SplitSeq(r.value(l.source.SkipBy), ",") {
		if reason, skipped = l.source.Skip[statusWord(word)]; skipped {
			return reason, true
		}
	}
	return "", false
}

// add sends the batch first if the row does not fit, or needs other ImportOptions.
func (l *loader) add(ctx context.Context, e *entry) error {
	size := 0
	if e.message != nil {
		size = proto.Size(e.message)
	}
	full := len(l.batch) >= cmp.Or(l.batchRows, transfer.BatchRows) || l.bytes+size > maxBatchBytes
	if len(l.batch) > 0 && (full || l.batch[0].clearsCompareAt != e.clearsCompareAt || l.batch[0].unpriced != e.unpriced) {
		if err := l.send(ctx); err != nil {
			return err
		}
	}
	l.batch = append(l.batch, e)
	l.bytes += size
	return nil
}

func (l *loader) send(ctx context.Context) error {
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
		Events: l.Events, DryRun: l.check != nil, MatchCustomers: true, Update: l.Update, ClearCompareAt: batch[0].clearsCompareAt,
		KeepPrice: batch[0].unpriced, ImportId: l.id.String(),
	}
	// judge must know the stored customers, so in the first pass over customers ask about all rows first. If judge sends all
	// unchanged, raw is also the answer to that.
	var raw *adminv1.ImportResponse
	if l.check != nil && l.Kind == transfer.Customers {
		var err error
		if raw, err = l.call(ctx, rows, options); err != nil {
			return err
		}
		l.check.addStored(raw.GetCustomers())
	}
	// A refused row keeps its whole batch from being stored. Send the batch again without bad rows, except in the second pass
	// without SkipBad, and count only that answer.
	for len(rows) > 0 {
		v := l.check.judge(rows)
		out := raw
		if raw = nil; out == nil || !v.unchanged(rows) {
			var err error
			if out, err = l.call(ctx, v.fresh, options); err != nil {
				return err
			}
		}
		if l.check.addStored(out.GetCustomers()) {
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
		// A bad row may have the id of another object, which the store has.
		if l.check.skip(out, v.fresh) {
			continue
		}
		for _, c := range v.conflicts {
			c.refuseWith(c.field, c.problem, c.related.String())
		}
		if l.check != nil {
			l.accept(v, rows, batch[0].row)
		}
		r.Lines += len(v.fresh)
		if l.check != nil && l.Kind == transfer.Customers {
			// The importer sees only one batch, and may count an earlier batch's customer as new.
			out = &adminv1.ImportResponse{}
			for _, e := range v.fresh {
				*[]*int32{&out.Stored, &out.Changed, &out.Skipped}[e.fate]++
			}
		}
		r.Stored, r.Changed, r.Skipped = r.Stored+int(out.GetStored()), r.Changed+int(out.GetChanged()), r.Skipped+int(out.GetSkipped())
		break
	}
	if err := l.reportBatch(batch); err != nil {
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

// reportBatch reports bad rows and, in the first pass, remarks and repeated rows, and writes them to Rejects.
func (l *loader) reportBatch(batch []*entry) error {
	for _, e := range batch {
		for _, bad := range e.bad {
			l.report.Problems = addRemark(l.report.Problems, bad)
		}
		switch {
		case len(e.bad) > 0:
			l.excluded[e.row] = true
			l.report.Bad++
			l.report.Lines++
			if err := l.rejects.add(e.table, e.lines, e.bad); err != nil {
				return fmt.Errorf("write the rejected rows: %w", err)
			}
		case l.check == nil:
		case l.excluded[e.row]:
			if err := l.reportLeftOut(e.table, e.lines, e.notes); err != nil {
				return err
			}
		default:
			for _, note := range slices.Concat(e.notes, e.lost) {
				l.report.Notes = addRemark(l.report.Notes, note)
			}
			l.report.addUnknown(e.unknown)
		}
	}
	return nil
}

func (l *loader) reportLeftOut(t *table, lines []line, reasons []LineError) error {
	for _, note := range reasons {
		l.report.Notes = addRemark(l.report.Notes, note)
	}
	if err := l.rejects.add(t, lines, reasons); err != nil {
		return fmt.Errorf("write the rows that are left out: %w", err)
	}
	return nil
}

// accept keeps the decisions v for the report and the second pass. rows are the batch's good rows; first numbers its first row,
// good or bad.
func (l *loader) accept(v verdict, rows []*entry, first int) {
	l.check.accept()
	for _, e := range v.repeated {
		l.excluded[e.row] = true
		l.report.Repeated++
		l.report.Lines++
	}
	for _, e := range rows {
		if e.phoneless {
			l.phoneless[e.row] = true
		}
	}
	for _, e := range v.fresh {
		if (e.stored || e.fate == skipped) && !l.Update && len(e.notes) == 0 {
			e.notes, e.lost = []LineError{{Line: e.line, Problem: "is in the store already and left as it is"}}, nil
		}
	}
	for _, m := range l.check.merges {
		l.merged[m.row] = m
		l.report.Merged++
		if m.row < first {
			l.report.Stored-- // the row is of an earlier batch, which counted it as stored
		} else {
			l.report.Lines++
		}
		l.report.Notes = addRemark(l.report.Notes, m.note)
	}
}

const tooLargeForServer = "is larger than the 1 MiB that a server reads; import the file with --database-url"

// call returns nil if there are no rows.
func (l *loader) call(ctx context.Context, rows []*entry, o *adminv1.ImportOptions) (out *adminv1.ImportResponse, err error) {
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
			{Message: tooLargeForServer},
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
