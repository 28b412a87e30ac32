package file

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// line is one line of a table: its number and its values, in the order of the columns.
type line struct {
	number int
	values []string
	table  *table
}

// column returns a column's value, "" if there is no such column.
func (l line) column(name string) string {
	if i, ok := l.table.places[fold(name)]; ok && i < len(l.values) {
		return strings.TrimSpace(l.values[i])
	}
	return ""
}

// table reads a CSV file, or JSON lines of flat objects, as lines of columns. While one goroutine reads,
// another may ask for the columns of records that were read.
type table struct {
	source
	mu     sync.Mutex // of header, places and of, which grow with the names of JSON members
	header []string
	places map[string]int   // by fold of the name
	of     map[string][]int // the columns of each field that the file has
	read   func() (line, error)
	ahead  *line             // a line that was read, of the next record
	failed error             // of the line after the record
	groups map[uint64]uint64 // hashes of the groups that were read, and of their lines
	seed   maphash.Seed
}

func newTable(s source) *table {
	return &table{source: s, places: map[string]int{}, of: map[string][]int{}, groups: map[uint64]uint64{}, seed: maphash.MakeSeed()}
}

var gaps = strings.NewReplacer(" ", "", "_", "", "-", "")

// fold makes the names of columns comparable: Cover URL, cover_url and coverUrl are one.
func fold(name string) string { return strings.ToLower(gaps.Replace(strings.TrimSpace(name))) }

// newCSV reads the header of a CSV file. The separator is the one of , ; and tab that the header has
// most of outside quotes.
func newCSV(text *bufio.Reader, s source) (*table, error) {
	t := newTable(s)
	head, _ := text.Peek(headBytes)
	mark, ending := formOf(head)
	limit := &bounded{Reader: text}
	if ending == '\r' {
		limit.Reader = crAsLF{text}
	}
	limit.next()
	records := csv.NewReader(limit)
	records.FieldsPerRecord = -1
	records.Comma = mark
	header, err := records.Read()
	if err != nil {
		var bad *LineError
		if err = csvError(err, 0); errors.As(err, &bad) {
			err = &fatalError{*bad}
		}
		return nil, err
	}
	t.name(header)
	at := 1
	t.read = func() (line, error) {
		limit.next()
		values, err := records.Read()
		if err != nil {
			return line{}, csvError(err, at)
		}
		at, _ = records.FieldPos(0)
		if len(values) != len(t.header) {
			return line{}, &LineError{at, "", fmt.Sprintf("has %d columns, but the header has %d", len(values), len(t.header))}
		}
		return line{at, values, t}, nil
	}
	return t, nil
}

// headBytes is how much of a file is looked at before it is read.
const headBytes = 4096

// formOf returns the separator of a header and what ends it, \n or \r; what stands in quotes is neither.
func formOf(head []byte) (separator, ending rune) {
	const separators = ",;\t"
	counts, quoted, ending := [len(separators)]int{}, false, '\n'
	for i, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n', c == '\r':
			if c == '\r' && !bytes.HasPrefix(head[i+1:], []byte("\n")) && i+1 < headBytes {
				ending = '\r'
			}
			return most(separators, counts[:]), ending
		default:
			if at := strings.IndexByte(separators, c); at >= 0 {
				counts[at]++
			}
		}
	}
	return most(separators, counts[:]), ending
}

// most returns the byte with the highest count, the first of several.
func most(of string, counts []int) rune { return rune(of[slices.Index(counts, slices.Max(counts))]) }

// crAsLF reads the lines of a file of which each ends with a carriage return.
type crAsLF struct{ io.Reader }

func (r crAsLF) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// csvError is the error of a line that cannot be read; io.EOF stays as it is.
func csvError(err error, at int) error {
	var malformed *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return err
	case errors.Is(err, errTooLong):
		return &fatalError{LineError{at + 1, "", errTooLong.Error() + "; a quote may not be closed"}}
	case errors.As(err, &malformed):
		return &LineError{malformed.StartLine, "", fmt.Sprintf("is no CSV: %v in character %d of line %d", malformed.Err, malformed.Column, malformed.Line)}
	}
	return fmt.Errorf("read the file: %w", err)
}

// maxMembers bounds the members of JSON lines that are kept though nothing reads them: each line that waits to
// be stored has a place for every column.
const maxMembers = 1000

// newObjects reads JSON lines as a table whose columns are the members' names.
func newObjects(lines *lines, s source) *table {
	t := newTable(s)
	t.read = func() (line, error) {
		text, at, err := lines.next()
		if err != nil {
			return line{}, err
		}
		var object map[string]any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&object); err != nil || decoder.More() {
			return line{}, &LineError{at, "", "must be one JSON object"}
		}
		l := line{number: at, table: t, values: make([]string, len(t.header))}
		for name, value := range object {
			i, known := t.places[fold(name)]
			if !known && len(t.header) >= maxMembers && !t.isRead(name) {
				continue
			}
			if !known {
				i = t.add(name)
			}
			for len(l.values) <= i {
				l.values = append(l.values, "")
			}
			switch value.(type) {
			case nil:
			case map[string]any, []any:
				if t.isRead(name) {
					return line{}, &LineError{at, name, "must be a text, a number, true or false"}
				}
			default:
				if l.values[i] != "" && t.isRead(name) {
					return line{}, &LineError{at, t.header[i], "stands in the line twice, in two spellings"}
				}
				l.values[i] = fmt.Sprint(value)
			}
		}
		return l, nil
	}
	return t
}

// add adds a column behind the others, and returns its place.
func (t *table) add(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := len(t.header)
	t.places[fold(name)] = at
	t.header = append(t.header, name)
	clear(t.of)
	return at
}

// name keeps the names of the columns.
func (t *table) name(header []string) {
	t.header = header
	for i, name := range header {
		if _, twice := t.places[fold(name)]; !twice {
			t.places[fold(name)] = i
		}
	}
}

// mapped adds the columns of --map, and for a file of one's own each column that is named as a field.
func (s source) mapped(fields []string, columns []Column) (source, error) {
	all := map[string][]string{}
	maps.Copy(all, s.columns)
	if s.columns == nil {
		for _, field := range fields {
			all[field] = []string{field}
		}
	}
	chosen := map[string][]string{}
	for _, c := range columns {
		for _, of := range []map[string][]string{all, chosen} { // a mapped column counts for nothing else
			for field, names := range of {
				of[field] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fold(name) == fold(c.Name) })
			}
		}
		if c.Field == "" {
			continue
		}
		if !slices.Contains(fields, c.Field) {
			return s, fmt.Errorf("--map %s=%s: must be one of %s", c.Name, c.Field, strings.Join(fields, ", "))
		}
		chosen[c.Field] = append(chosen[c.Field], c.Name)
	}
	for field, names := range chosen {
		all[field] = append(names, all[field]...)
	}
	s.columns = all
	return s, nil
}

// next returns the next record: a line, or consecutive lines of one group.
func (t *table) next() (*record, error) {
	for {
		first, err := t.take()
		if err != nil {
			return nil, err
		}
		if t.skip != nil && t.skip(first.column(t.skipBy)) {
			continue
		}
		r := &record{lines: []line{first}, table: t}
		field, key := r.key()
		for key != "" {
			more, err := t.take()
			if err != nil {
				t.failed = err
				break
			}
			if !r.goesOn(&record{lines: []line{more}, table: t}) {
				t.ahead = &more
				break
			}
			if len(r.lines) == maxRecordLines {
				return nil, &fatalError{LineError{more.number, "", fmt.Sprintf("belongs to a record of more than %d lines; %s may be empty", maxRecordLines, r.columnOf(field))}}
			}
			r.lines = append(r.lines, more)
		}
		return r, t.apart(r)
	}
}

// maxRecordLines bounds the lines of one record, and with them what is held in memory.
const maxRecordLines = 10_000

// apart refuses a record of a group that stood further up with other lines: it would be taken for the one
// that is there already, and its lines would be lost. The same lines again are.
func (t *table) apart(r *record) error {
	field, key := r.key()
	if key == "" {
		return nil
	}
	var whole maphash.Hash
	whole.SetSeed(t.seed)
	for _, l := range r.lines {
		for _, value := range l.values {
			_, _ = whole.WriteString(value)
			_ = whole.WriteByte(0)
		}
	}
	group := maphash.String(t.seed, field+"\n"+key)
	if before, again := t.groups[group]; again && before != whole.Sum64() {
		return &LineError{r.lines[0].number, r.columnOf(field), fmt.Sprintf("%s stands further up too; all lines of one record must follow each other and have one id and one buyer", key)}
	}
	t.groups[group] = whole.Sum64()
	return nil
}

// take returns the next line that is not blank.
func (t *table) take() (line, error) {
	if err := t.failed; err != nil {
		t.failed = nil
		return line{}, err
	}
	if t.ahead != nil {
		l := *t.ahead
		t.ahead = nil
		return l, nil
	}
	for {
		l, err := t.read()
		if err != nil || slices.ContainsFunc(l.values, func(v string) bool { return strings.TrimSpace(v) != "" }) {
			return l, err
		}
	}
}

// columnsOf returns the places of the columns of a field, and the header that they are in.
func (t *table) columnsOf(field string) (places []int, header []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	places, known := t.of[field]
	if !known {
		for _, name := range t.columns[field] {
			if i, there := t.places[fold(name)]; there {
				places = append(places, i)
			}
		}
		t.of[field] = places
	}
	return places, t.header
}

// isRead reports whether anything is read from a column of this name.
func (t *table) isRead(name string) bool {
	if t.skip != nil && fold(name) == fold(t.skipBy) {
		return true
	}
	for _, names := range t.columns {
		if slices.ContainsFunc(names, func(other string) bool { return fold(other) == fold(name) }) {
			return true
		}
	}
	return false
}
