package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
)

// Import configures a load.
type Import struct {
	// Kind is what each line holds.
	Kind ImportKind
	// Events makes the load send the events that the same rows would send if they were new:
	// customer.created, product.published for published products, order.paid and so on.
	Events bool
	// Progress, when not nil, is called after each batch with all that was loaded so far.
	Progress func(Imported)
}

// ImportKind is a kind of resource that can be loaded in bulk.
type ImportKind string

// The kinds of resource that can be loaded in bulk.
const (
	ImportProducts  ImportKind = "products"
	ImportCustomers ImportKind = "customers"
	ImportOrders    ImportKind = "orders"
)

// Imported is the progress of a load.
type Imported struct {
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
func (s *Shop) Import(ctx context.Context, lines io.Reader, i Import) (Imported, error) {
	var done Imported
	t, err := tenantOf(ctx)
	if err != nil {
		return done, err
	}
	text := &lineReader{Scanner: bufio.NewScanner(lines)}
	text.Buffer(nil, maxLineBytes)
	for {
		batch, err := s.newBatch(i.Kind, t)
		if err != nil {
			return done, err
		}
		read, err := text.fill(batch)
		if err != nil || read == 0 {
			return done, err
		}
		var stored int
		err = s.withTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
			hook.Silence(ctx, i.Events)
			// The entry is the store's. Its row is taken first, so that two loads into it take turns.
			row, err := take(ctx, s, tx.Store.Query().Where(store.ID(t.ID)))
			if err != nil {
				return fmt.Errorf("read store: %w", err)
			}
			if stored, err = batch.save(ctx, tx); err != nil || stored == 0 {
				return err
			}
			if err := row.Update().SetUpdatedAt(hook.Time(ctx)).Exec(ctx); err != nil {
				return fmt.Errorf("update store: %w", err)
			}
			hook.Record(ctx, "store.imported", "store", t.ID, hook.Change{Field: string(i.Kind), To: int64(stored)})
			return nil
		})
		if err != nil {
			return done, err
		}
		done.Lines += read
		done.Stored += stored
		done.Skipped += read - stored
		done.Bytes = text.bytes
		if i.Progress != nil {
			i.Progress(done)
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

func (s *Shop) newBatch(kind ImportKind, t tenant.Store) (batch, error) {
	switch kind {
	case ImportProducts:
		return &productBatch{t: t}, nil
	case ImportCustomers:
		return &customerBatch{shop: s, t: t}, nil
	case ImportOrders:
		return &orderBatch{shop: s, t: t}, nil
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

// lineProblems starts with what the decoder refused of a line.
func lineProblems(decoding error) *problems {
	var invalid *wire.Invalid
	errors.As(decoding, &invalid)
	return problemsOf(invalid)
}

// lineError is nil when nothing is wrong with the line, and names everything that is otherwise.
func (p *problems) lineError(line int) error {
	if !p.any() {
		return nil
	}
	if p.broken {
		return &LineError{line, p.message}
	}
	said := make([]string, len(p.fields))
	for i, f := range p.fields {
		said[i] = f.Name + ": " + f.Message
	}
	return &LineError{line, strings.Join(said, "; ")}
}
