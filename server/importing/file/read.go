package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/validate"
)

// ErrOptions is an import that cannot begin because its options are wrong.
var ErrOptions = errors.New("import")

// open decides by the file's first character what it is, and returns what reads its rows; io.EOF is
// the end.
func (l *load) open() (func() (*entry, error), error) {
	fields, known := own[l.Kind]
	if !known {
		return nil, fmt.Errorf("%w: %q must be one of products, customers, orders", ErrOptions, l.Kind)
	}
	s, known := sources[l.From][l.Kind]
	if !known && l.From != "" && l.From != "storefront" {
		return nil, fmt.Errorf("%w: --from must be one of %s, storefront", ErrOptions, strings.Join(slices.Sorted(maps.Keys(sources)), ", "))
	}
	if s.known = known; !known && l.Kind == Orders {
		s.group = "reference"
	}
	s, err := s.mapped(fields, l.Columns)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	text := bufio.NewReaderSize(l.in, 64<<10)
	if mark, _ := text.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = text.Discard(3)
	}
	head, err := text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if len(bytes.TrimSpace(head)) == 0 && len(head) < headBytes {
		return func() (*entry, error) { return nil, io.EOF }, nil
	}
	switch first := bytes.TrimSpace(head); {
	case len(first) > 0 && first[0] == '{' && known || len(first) > 0 && first[0] == '{' && len(l.Columns) > 0:
		return l.records(newObjects(newLines(text), s)), nil
	case len(first) > 0 && (first[0] == '{' || first[0] == '['):
		return l.objects(newLines(text)), nil
	}
	t, err := newCSV(decoded(text), s)
	if err != nil {
		return nil, err
	}
	for _, c := range l.Columns {
		if _, there := t.places[fold(c.Name)]; !there && c.Field != "" {
			return nil, &fatalError{LineError{1, "", fmt.Sprintf("no column %s, which --map names; the columns are %s", c.Name, strings.Join(t.header, ", "))}}
		}
	}
	if missing := t.missing(l.Kind); missing != "" {
		return nil, &fatalError{LineError{1, "", missing}}
	}
	return l.records(t), nil
}

// needed are the fields without one of which no row of a kind can be imported.
var needed = map[Kind][][]string{
	Products:  {{"title"}, {"price", "priceAmount"}},
	Customers: {{"email", "phone"}},
	Orders:    {{"reference", "id"}, {"email", "phone", "customer"}},
}

// missing is what the header lacks.
func (t *table) missing(kind Kind) string {
	for _, choice := range needed[kind] {
		there := slices.ContainsFunc(choice, func(field string) bool {
			return slices.ContainsFunc(t.columns[field], func(name string) bool { _, has := t.places[fold(name)]; return has })
		})
		if !there {
			return fmt.Sprintf("no column for %s; name it with --map COLUMN=%s, or the shop with --from; the columns are %s",
				strings.Join(choice, " or "), choice[0], strings.Join(t.header, ", "))
		}
	}
	return ""
}

// lines numbers the lines of a text and passes over blank ones.
type lines struct {
	*bufio.Scanner
	number int
}

func newLines(text io.Reader) *lines {
	l := &lines{Scanner: bufio.NewScanner(text)}
	l.Buffer(nil, maxLineBytes)
	return l
}

func (l *lines) next() ([]byte, int, error) {
	for l.Scan() {
		l.number++
		if len(bytes.TrimSpace(l.Bytes())) > 0 {
			return l.Bytes(), l.number, nil
		}
	}
	switch err := l.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, 0, &fatalError{LineError{l.number + 1, "", errTooLong.Error()}}
	case err != nil:
		return nil, 0, fmt.Errorf("read line %d: %w", l.number+1, err)
	}
	return nil, 0, io.EOF
}

// objects reads objects of the API, one a line.
func (l *load) objects(text *lines) func() (*entry, error) {
	return func() (*entry, error) {
		object, at, err := text.next()
		if err != nil {
			return nil, err
		}
		e := &entry{line: at}
		switch l.Kind {
		case Products:
			e.message = &storefrontv1.Product{}
		case Customers:
			e.message = &storefrontv1.Customer{}
		case Orders:
			e.message = &storefrontv1.Order{}
		}
		if invalid, ok := errors.AsType[*wire.Invalid](wire.Unmarshal(object, e.message)); ok {
			if len(invalid.Fields) == 0 {
				return nil, &LineError{at, "", invalid.Message}
			}
			for _, f := range invalid.Fields {
				e.refuse(f.Name, f.Message)
			}
		}
		if l.Kind == Products && !bytes.Contains(object, []byte(`"priceAmount"`)) {
			e.refuse("priceAmount", "is required")
		}
		l.complete(e, "storefront")
		return e, nil
	}
}

// records reads the records of a table.
func (l *load) records(t *table) func() (*entry, error) {
	from := l.From
	if from == "" {
		from = "storefront"
	}
	titles := map[string]int{}
	return func() (*entry, error) {
		r, err := t.next()
		if err != nil {
			return nil, err
		}
		b := &builder{record: r, currency: l.Store.GetCurrency(), decimals: validate.Decimals(l.Store.GetCurrency())}
		b.entry = &entry{line: r.lines[0].number, place: b.place}
		switch l.Kind {
		case Products:
			b.entry.message = b.product()
		case Customers:
			b.entry.message = b.customer()
		case Orders:
			b.entry.message = b.order()
		}
		if p, ok := b.entry.message.(*storefrontv1.Product); ok && r.value("id") == "" && p.GetTitle() != "" {
			if first, twice := titles[p.GetTitle()]; twice {
				b.entry.refuse("title", fmt.Sprintf("is that of line %d too; give products of one title an id column", first))
			} else {
				titles[p.GetTitle()] = b.entry.line
			}
		}
		l.complete(b.entry, from)
		return b.entry, nil
	}
}
