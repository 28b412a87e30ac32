// Package importing loads existing data into a store in bulk, by the rules that the API has for single
// values (server/validate), with ids, dates, statuses and counters kept. It sends no events unless
// asked, and writes one journal entry a batch.
package importing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/server/validate"
)

// Importer loads existing data into stores. Goroutines may share it.
type Importer struct{ db *db.DB }

// New returns an importer into the stores of a database.
func New(s *db.DB) *Importer { return &Importer{s} }

// Options configure a load.
type Options struct {
	// Kind is what each line holds.
	Kind Kind
	// Events makes the load send the events that the same rows would send if they were new:
	// customer.created, product.published for published products, order.paid and so on.
	Events bool
	// Progress, when not nil, is called after each batch with all that was loaded so far.
	Progress func(Progress)
}

// Kind is a kind of resource that can be loaded in bulk.
type Kind string

// The kinds of resource that can be loaded in bulk.
const (
	Products  Kind = "products"
	Customers Kind = "customers"
	Orders    Kind = "orders"
)

// Progress is how far a load is.
type Progress struct {
	// Lines is how many lines were read that hold something.
	Lines int
	// Stored is how many of them are new rows, Skipped how many were in the store before.
	Stored, Skipped int
	// Bytes is how much of the text the lines take.
	Bytes int64
}

// BatchLines is how many lines are stored in one transaction.
const BatchLines = 500

// maxLineBytes bounds a line, as a body of the API is bounded.
const maxLineBytes = 1 << 20

// LineError is a line that cannot be loaded. Nothing of its batch is stored.
type LineError struct {
	// Line counts from 1.
	Line int
	// Problem names every refused field and why.
	Problem string
}

// Error returns the line's number and its problem.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Import loads existing data: one whole object a line, in the API's own JSON. Ids, dates,
// statuses, references and counters are kept; texts, amounts, e-mails and phones are held to the
// rules that the API has for them. A row whose id the store has already is skipped as it is, so
// that running a load again adds nothing twice.
//
//	500 lines ──► read all, check all ──► one transaction: rows, one journal entry ──► next 500
//	                     └─ a bad line ends the load; the batches before it are stored
//
// A load that dies between two batches is continued by running it again.
//
// The error of a bad line is a *LineError. The progress is returned with an error too.
func (m *Importer) Import(ctx context.Context, lines io.Reader, o Options) (Progress, error) {
	var done Progress
	t, _, ok := tenant.From(ctx)
	if !ok {
		return done, errors.New("the context names no store")
	}
	text := &lineReader{Scanner: bufio.NewScanner(lines)}
	text.Buffer(nil, maxLineBytes)
	for {
		batch, err := m.newBatch(o.Kind, t)
		if err != nil {
			return done, err
		}
		read, err := text.fill(batch)
		if err != nil || read == 0 {
			return done, err
		}
		var stored int
		err = m.db.Change(ctx, func(ctx context.Context, tx *ent.Tx) error {
			hook.Silence(ctx, o.Events)
			// The entry is the store's. Its row is taken first, so that two loads into it take turns.
			row, err := db.Take(ctx, m.db, tx.Store.Query().Where(store.ID(t.ID)))
			if err != nil {
				return fmt.Errorf("read store: %w", err)
			}
			if stored, err = batch.save(ctx, tx); err != nil || stored == 0 {
				return err
			}
			if err := row.Update().SetUpdatedAt(hook.Time(ctx)).Exec(ctx); err != nil {
				return fmt.Errorf("update store: %w", err)
			}
			hook.Record(ctx, "store.imported", "store", t.ID, hook.Change{Field: string(o.Kind), To: int64(stored)})
			return nil
		})
		if err != nil {
			return done, err
		}
		done.Lines += read
		done.Stored += stored
		done.Skipped += read - stored
		done.Bytes = text.bytes
		if o.Progress != nil {
			o.Progress(done)
		}
	}
}

// batch is up to BatchLines lines on their way into the store.
type batch interface {
	// read adds a line, or refuses it with a *LineError.
	read(text []byte, line int) error
	// save stores the rows that the store does not have and returns how many they are. It may be
	// run more than once.
	save(ctx context.Context, tx *ent.Tx) (stored int, err error)
}

func (m *Importer) newBatch(kind Kind, t tenant.Store) (batch, error) {
	switch kind {
	case Products:
		return &productBatch{t: t}, nil
	case Customers:
		return &customerBatch{db: m.db, t: t}, nil
	case Orders:
		return &orderBatch{db: m.db, t: t}, nil
	}
	return nil, fmt.Errorf("import %q: must be one of products, customers, orders", kind)
}

// lineReader numbers the lines of a text.
type lineReader struct {
	*bufio.Scanner
	line  int
	bytes int64
}

// fill reads the next lines into a batch, passing over blank ones, and returns how many.
func (r *lineReader) fill(b batch) (int, error) {
	n := 0
	for n < BatchLines && r.Scan() {
		r.line++
		r.bytes += int64(len(r.Bytes())) + 1
		if len(bytes.TrimSpace(r.Bytes())) == 0 {
			continue
		}
		if err := b.read(r.Bytes(), r.line); err != nil {
			return 0, err
		}
		n++
	}
	switch err := r.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return 0, &LineError{r.line + 1, "is longer than 1 MiB"}
	case err != nil:
		return 0, fmt.Errorf("read line %d: %w", r.line+1, err)
	}
	return n, nil
}

// importLine is a line that was read: its number and the row that it describes.
type importLine[R any] struct {
	number int
	row    R
}

// refuse returns the error of one field of the line.
func (l importLine[R]) refuse(field, message string) error {
	return &LineError{l.number, field + ": " + message}
}

// problems gathers everything that is wrong with a line.
type problems struct{ validate.Problems }

// lineProblems starts with what the decoder refused of a line.
func lineProblems(decoding error) *problems {
	var invalid *wire.Invalid
	errors.As(decoding, &invalid)
	return &problems{*validate.Of(invalid)}
}

// lineError is nil when nothing is wrong with the line, and names everything that is otherwise.
func (p *problems) lineError(line int) error {
	if !p.Any() {
		return nil
	}
	if p.Broken() {
		return &LineError{line, p.Message()}
	}
	refused := make([]string, len(p.Fields()))
	for i, f := range p.Fields() {
		refused[i] = f.Name + ": " + f.Message
	}
	return &LineError{line, strings.Join(refused, "; ")}
}
