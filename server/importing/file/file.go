// Package file reads the files that stores bring along when they move in, and imports them in batches:
// CSV of other shops' exports or of one's own, and JSON lines. It knows the columns of the exports, makes
// the ids that a file does not have, and names the line and the column of what is refused.
//
//	file ──► lines ──► records ──► messages of the API ──► batches ──► API: a database, or a server
//	            └─ columns: --from, --map       └─ ids from the store and one's own ids
//
// One's own ids become UUIDs of version 5 (RFC 9562, 5.5) of the store, the kind, the source and the own id.
// So the same row is the same object whenever it is imported, and importing a file again changes nothing.
//
// A batch is stored whole or not at all. Behind a bad line nothing is stored any more, but everything is
// checked, so that all bad lines are known. An import that dies is continued by running it again.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

// BatchRows and maxBatchBytes bound a batch: how many rows a request may hold, and what stays below the
// largest request that a server reads.
const (
	BatchRows     = 500
	maxBatchBytes = 900 << 10
)

// Kind is a kind of resource that can be imported.
type Kind string

// The kinds of resource that can be imported.
const (
	Products  Kind = "products"
	Customers Kind = "customers"
	Orders    Kind = "orders"
)

// API is where rows are imported: the methods of storefront.admin.v1.ImportService.
type API interface {
	ImportProducts(context.Context, *adminv1.ImportProductsRequest) (*adminv1.ImportResponse, error)
	ImportCustomers(context.Context, *adminv1.ImportCustomersRequest) (*adminv1.ImportResponse, error)
	ImportOrders(context.Context, *adminv1.ImportOrdersRequest) (*adminv1.ImportResponse, error)
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
	// holds something counts.
	Columns []Column
	// Type is the type of products whose line has none; FILE unless set.
	Type storefrontv1.Product_Type
	// Events sends the events that the same rows would send if they were new.
	Events bool
	// DryRun checks everything and stores nothing.
	DryRun bool
	// Progress, when not nil, is called after each batch with all that was read so far.
	Progress func(Progress)
	// Bad, when not nil, is called for each bad line, in the file's order.
	Bad func(LineError)
}

// Column is a column to read as a field; without a field it is left out.
type Column struct{ Name, Field string }

// Progress is how far an import is.
type Progress struct {
	// Lines is how many rows of the file are done.
	Lines int
	// Stored is how many of them are new, Skipped how many were in the store before. In a dry run
	// nothing is stored; these are the numbers that would be.
	Stored, Skipped int
	// Bad is how many lines cannot be imported.
	Bad int
	// Bytes is how much of the file was read.
	Bytes int64
}

// LineError is a line that cannot be imported.
type LineError struct {
	// Line counts from 1.
	Line int
	// Column is the column, or the field of a JSON object; empty for the whole line.
	Column string
	// Problem is why.
	Problem string
}

// Error returns the line's number, its column and its problem.
func (e *LineError) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("line %d: %s", e.Line, e.Problem)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Column, e.Problem)
}

// fatalError is a line behind which nothing can be read.
type fatalError struct{ LineError }

// BadLinesError is the error of an import with bad lines.
type BadLinesError struct {
	// First are all problems of the first bad line.
	First []LineError
	// Count is how many lines are bad.
	Count int
}

// Error returns the first bad line, and how many there are if there are more.
func (e *BadLinesError) Error() string {
	text := e.First[0].Error()
	for _, other := range e.First[1:] {
		if text += "; "; other.Column != "" {
			text += other.Column + ": "
		}
		text += other.Problem
	}
	if e.Count > 1 {
		return fmt.Sprintf("%d lines cannot be imported; the first is %s", e.Count, text)
	}
	return text
}

// Load imports a file. It returns a *BadLinesError for bad lines, and the Progress also with an error.
// Another goroutine reads. If Load returns while that waits for in, as when the context ends, the
// goroutine ends once the read does.
func Load(ctx context.Context, api API, in io.Reader, o Options) (Progress, error) {
	l := &load{Options: o, api: api, in: &counted{Reader: in}, seen: map[identity]bool{}, buyers: map[identity]*storefrontv1.Order_Customer{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	rows := l.ahead(ctx)
	var err error
	for err == nil {
		var r row
		select {
		case r = <-rows:
		case <-ctx.Done(): // in may never end
			return l.done, ctx.Err()
		}
		l.read = r.bytes
		if err = r.err; err == nil {
			err = l.add(ctx, r.entry)
		}
		if bad, ok := errors.AsType[*LineError](err); ok {
			err = l.add(ctx, &entry{line: bad.Line, bad: []LineError{*bad}})
		}
	}
	return l.finish(ctx, err)
}

// finish stores the last batch if the file was read to its end, or to a line after which nothing can be
// read, and returns the progress.
func (l *load) finish(ctx context.Context, err error) (Progress, error) {
	if fatal, ok := errors.AsType[*fatalError](err); ok {
		l.batch = append(l.batch, &entry{line: fatal.Line, bad: []LineError{fatal.LineError}})
		err = io.EOF
	}
	if errors.Is(err, io.EOF) {
		err = l.send(ctx)
	}
	if err == nil && l.done.Bad > 0 {
		err = &BadLinesError{l.first, l.done.Bad}
	}
	return l.done, err
}

// row is the next entry of the file, or the error of reading it.
type row struct {
	entry *entry
	err   error
	bytes int64 // of the file so far
}

// ahead reads up to a batch ahead of what is stored, until the context or the file ends: the last row has
// io.EOF or another error.
func (l *load) ahead(ctx context.Context) <-chan row {
	rows := make(chan row, BatchRows)
	go func() {
		next, err := l.open()
		for {
			var e *entry
			if err == nil {
				e, err = next()
			}
			select {
			case rows <- row{e, err, l.in.bytes}:
			case <-ctx.Done():
				return
			}
			if bad := new(LineError); err != nil && !errors.As(err, &bad) {
				return
			}
			err = nil
		}
	}()
	return rows
}

// entry is a row of the file on its way into the store.
type entry struct {
	line    int
	message proto.Message // nil if the line cannot be read
	// derived is true for a row whose id was made: its e-mail and phone then identify its customer.
	derived bool
	bad     []LineError
	// place returns the column of a field and its line; nil for a JSON object, whose fields are its
	// columns.
	place func(field string) (column string, line int)
}

// refuse adds a problem of a field, unless the field has one.
func (e *entry) refuse(field, problem string) {
	column, line := field, e.line
	if e.place != nil {
		column, line = e.place(field)
	}
	for _, b := range e.bad {
		if b.Column == column {
			return
		}
	}
	e.bad = append(e.bad, LineError{line, column, problem})
}

type load struct {
	Options
	api   API
	in    *counted
	batch []*entry
	bytes int
	read  int64 // bytes of the file up to the row at hand
	done  Progress
	first []LineError
	// seen identifies the rows that were only checked, and so are not in the store.
	seen map[identity]bool
	// buyers are the customers of orders that were only checked, by id, e-mail and phone.
	buyers map[identity]*storefrontv1.Order_Customer
}

// checking reports whether rows are only checked.
func (l *load) checking() bool { return l.DryRun || l.done.Bad > 0 }

// add adds a row to the batch. It first sends the batch if that is full, or if its rows have ids of the
// file and this row has a derived one, or the reverse.
func (l *load) add(ctx context.Context, e *entry) error {
	size := 0
	if e.message != nil {
		size = proto.Size(e.message)
	}
	full := len(l.batch) >= BatchRows || l.bytes+size > maxBatchBytes
	if len(l.batch) > 0 && (full || l.batch[0].derived != e.derived) {
		if err := l.send(ctx); err != nil {
			return err
		}
	}
	l.batch = append(l.batch, e)
	l.bytes += size
	return nil
}

// send imports the batch.
func (l *load) send(ctx context.Context) error {
	batch := l.batch
	l.batch, l.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	options := &adminv1.ImportOptions{Events: l.Events, DryRun: l.checking(), MatchCustomers: batch[0].derived}
	var sent []*entry
	repeated := 0
	for _, e := range batch {
		options.DryRun = options.DryRun || len(e.bad) > 0
		if e.message == nil {
			continue
		}
		if l.checking() && l.repeats(e) {
			repeated++
			continue
		}
		sent = append(sent, e)
	}
	stored, skipped := 0, repeated
	if len(sent) > 0 {
		out, err := l.call(ctx, sent, options)
		if r, ok := errors.AsType[*apierr.Refusal](err); ok && r.Code == apierr.PayloadTooLarge && len(sent) == 1 {
			sent[0].bad = append(sent[0].bad, LineError{sent[0].line, "", "is larger than the 1 MiB that a server reads; import the file with --database-url"})
			out, err = nil, nil
		}
		if err != nil {
			return err
		}
		stored, skipped = int(out.GetStored()), repeated+int(out.GetSkipped())
		for _, r := range out.GetRefused() {
			sent[r.GetIndex()].refuse(r.GetField(), r.GetMessage())
		}
	}
	bad := 0
	for _, e := range batch {
		if len(e.bad) == 0 {
			if options.GetDryRun() {
				l.checked(e)
			}
			continue
		}
		if l.first == nil {
			l.first = e.bad
		}
		if bad++; l.Bad != nil {
			for _, b := range e.bad {
				l.Bad(b)
			}
		}
	}
	if l.done.Bad == 0 && bad == 0 || l.DryRun {
		l.done.Lines += len(batch)
		l.done.Stored += stored
		l.done.Skipped += skipped
	}
	l.done.Bad += bad
	l.done.Bytes = l.read
	if l.Progress != nil {
		l.Progress(l.done)
	}
	return nil
}

// call sends rows to the API.
func (l *load) call(ctx context.Context, rows []*entry, options *adminv1.ImportOptions) (*adminv1.ImportResponse, error) {
	store := l.Store.GetId()
	switch l.Kind {
	case Products:
		return l.api.ImportProducts(ctx, &adminv1.ImportProductsRequest{Store: store, Products: messages[*storefrontv1.Product](rows), Options: options})
	case Customers:
		return l.api.ImportCustomers(ctx, &adminv1.ImportCustomersRequest{Store: store, Customers: messages[*storefrontv1.Customer](rows), Options: options})
	default:
		return l.api.ImportOrders(ctx, &adminv1.ImportOrdersRequest{Store: store, Orders: messages[*storefrontv1.Order](rows), Options: options})
	}
}

func messages[M proto.Message](rows []*entry) []M {
	out := make([]M, len(rows))
	for i, e := range rows {
		out[i] = e.message.(M)
	}
	return out
}
