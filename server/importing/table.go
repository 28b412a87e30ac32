package importing

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// line is one line of a table: its number, and its values in the order of the columns. A JSON object has its text,
// the columns that it has members for, and what is wrong with them.
type line struct {
	number int
	values []string
	text   string
	given  map[int]bool
	bad    []LineError
}

// table reads a CSV file, or JSON objects, as lines of columns.
type table struct {
	source
	header    []string
	separator rune              // 0 for JSON objects
	places    map[string]int    // by fold of the name
	fields    map[string]string // by fold of a column's name
	of        map[string][]int  // the columns of each field that the file has
	read      func() (line, error)
	ahead     *line // a line that was read, of the next record
	failed    error // of the line after the record
}

// reasonColumn is the first column of the file of rejected rows, and the first member of its objects.
const reasonColumn = "reason"

func newTable(s source) *table {
	t := &table{source: s, places: map[string]int{}, fields: map[string]string{}, of: map[string][]int{}}
	rank := map[string]int{}
	for _, field := range slices.Sorted(maps.Keys(s.Columns)) {
		for i, name := range s.Columns[field] {
			name = fold(name)
			if t.fields[name] == "" || i < rank[name] {
				t.fields[name], rank[name] = field, i
			}
		}
	}
	return t
}

// newCSV reads the header of a CSV file.
func newCSV(text *bufio.Reader, s source) (*table, error) {
	head, _ := text.Peek(headBytes)
	lines, t := newLines(text), newTable(s)
	t.separator = separatorOf(head)
	lines.csv = csv.NewReader(lines)
	lines.csv.Comma, lines.csv.FieldsPerRecord, lines.separator = t.separator, -1, t.separator
	header, at, err := lines.record()
	if bad, is := errors.AsType[*LineError](err); is {
		return nil, &FileError{fmt.Sprintf("line %d %s", at, bad.Problem)}
	} else if errors.Is(err, io.EOF) {
		return nil, &FileError{"the file is empty: there is nothing to import"}
	} else if err != nil {
		return nil, err
	}
	for _, name := range header {
		t.add(name)
	}
	t.read = func() (line, error) {
		values, at, err := lines.record()
		if err == nil && len(values) != len(t.header) && !blank(values) {
			err = &LineError{Line: at, Problem: fmt.Sprintf("has %d columns, but the header has %d", len(values), len(t.header))}
		}
		return line{number: at, values: values}, err
	}
	return t, nil
}

func blank(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) != "" })
}

// maxMembers bounds the members of JSON lines that are kept though nothing reads them: each line that waits to
// be stored has a place for every column.
const maxMembers = 1000

// newObjects reads JSON objects as a table whose columns are the members' names, those of an object in it with a dot, as
// `list -o csv` writes them. Strict ones have no other members than are read.
func newObjects(next func() ([]byte, int, error), s source, strict bool) *table {
	t := newTable(s)
	if strict {
		t.Group = "" // an object is whole
	}
	t.read = func() (line, error) {
		text, at, err := next()
		l := line{number: at, text: string(text), given: map[int]bool{}}
		if err != nil {
			return l, err
		}
		var object map[string]any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&object); err != nil || decoder.More() {
			return l, &LineError{Line: at, Problem: "must be one JSON object"}
		}
		t.flatten(&l, "", object, strict)
		return l, nil
	}
	return t
}

// flatten adds the members of an object to its line.
func (t *table) flatten(l *line, prefix string, object map[string]any, strict bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		name = prefix + name
		if inner, is := value.(map[string]any); is {
			t.flatten(l, name+".", inner, strict)
			continue
		}
		isRead := t.fields[fold(name)] != ""
		i, known := t.places[fold(name)]
		switch {
		case !isRead && strict && !slices.Contains(t.ignored, fold(name)):
			l.bad = append(l.bad, LineError{Line: l.number, Column: name, Problem: "is not a known field", Value: fmt.Sprint(value)})
			continue
		case !known && !isRead && len(t.header) >= maxMembers:
			continue
		case !known:
			i = t.add(name)
		case l.given[i] && isRead:
			l.bad = append(l.bad, LineError{Line: l.number, Column: name, Problem: "stands in the line twice, in two spellings"})
		}
		for len(l.values) <= i {
			l.values = append(l.values, "")
		}
		l.given[i] = true
		switch value.(type) {
		case nil:
		case []any:
			list, _ := json.Marshal(value) // was JSON
			l.values[i] = string(list)
		default:
			l.values[i] = fmt.Sprint(value)
		}
	}
}

// add adds a column behind the others, and returns its place. Of two with one name the first is read.
func (t *table) add(name string) int {
	at := len(t.header)
	if _, twice := t.places[fold(name)]; !twice {
		t.places[fold(name)] = at
	}
	t.header = append(t.header, name)
	clear(t.of)
	return at
}

// maxRecordLines bounds the lines of one record, and with them what is held in memory.
const maxRecordLines = 10_000

// next returns the next record: a line, or consecutive lines of one group. With the error of a line that cannot
// be read it returns what is known of the line.
func (t *table) next() (*record, error) {
	begun, err := t.nextFilled()
	r := &record{lines: []line{begun}, table: t}
	if err != nil {
		return r, err
	}
	for r.key() != "" {
		more, failed := t.nextFilled()
		switch {
		case failed != nil || !r.goesOn(&record{lines: []line{more}, table: t}):
			t.ahead, t.failed = &more, failed
			return r, err
		case len(r.lines) < maxRecordLines:
			r.lines = append(r.lines, more)
		case err == nil:
			err = &LineError{Line: more.number, Problem: fmt.Sprintf("belongs to a record of more than %d lines; %s may be empty",
				maxRecordLines, r.columnOf(t.Group))}
		}
	}
	return r, nil
}

// nextFilled returns the next line that is not blank.
func (t *table) nextFilled() (line, error) {
	if t.ahead != nil {
		l, err := *t.ahead, t.failed
		t.ahead, t.failed = nil, nil
		return l, err
	}
	for {
		if l, err := t.read(); err != nil || t.separator == 0 || !blank(l.values) {
			return l, err
		}
	}
}

// columnsOf returns the places of the columns of a field.
func (t *table) columnsOf(field string) []int {
	places, known := t.of[field]
	if !known {
		for _, name := range t.Columns[field] {
			if i, there := t.places[fold(name)]; there && !slices.Contains(places, i) {
				places = append(places, i)
			}
		}
		t.of[field] = places
	}
	return places
}

// readColumns returns the columns that are read, those whose name says it not as the field as well, and those
// that are not, with the field that may be meant.
func (t *table) readColumns(fields []string) (read, not []string) {
	for i, name := range t.header {
		field := t.fields[fold(name)]
		switch {
		case slices.Contains(t.ignored, fold(name)):
		case field != "" && t.places[fold(name)] == i && fold(field) != fold(name):
			read = append(read, name+" as "+field)
		case field != "" && t.places[fold(name)] == i:
			read = append(read, name)
		default:
			if near := t.nearest(name, fields); near != "" {
				name += " (did you mean " + near + "?)"
			}
			not = append(not, name)
		}
	}
	return read, not
}

// nearest returns the name of a column of fields that the file lacks, of which a name may be a misspelling, or "".
func (t *table) nearest(name string, fields []string) string {
	word, best := fold(name), ""
	farthest := min(2, len(word)/2)
	for _, field := range fields {
		if len(t.columnsOf(field)) > 0 {
			continue
		}
		for _, other := range t.Columns[field] {
			if d := levenshtein.Distance(word, fold(other), nil); d <= farthest {
				best, farthest = other, d-1
			}
		}
	}
	return best
}

// needed are the fields without one of which no row of a kind can be imported.
var needed = map[Kind][][]string{
	Products:  {{"title"}, {"price", "priceAmount"}},
	Customers: {{"email", "phone"}},
	Orders:    {{"reference", "id"}, {"email", "phone", "customer"}},
}

// keys are the fields without one of which no row can be found that is to be updated.
var keys = map[Kind][][]string{
	Products: {{"title", "id", "sku", "slug"}}, Customers: {{"email", "phone", "id"}}, Orders: {{"reference", "id"}},
}

// complete refuses a header that lacks what is needed of the kind, or a column that --map names.
func (t *table) complete(needed [][]string, columns []Column) error {
	for _, c := range columns {
		if _, there := t.places[fold(c.Name)]; !there && c.Field != "" {
			return &FileError{fmt.Sprintf("the file has no column %s, which --map names; its columns are %s", c.Name, shown(t.header))}
		}
	}
	for _, choice := range needed {
		if slices.ContainsFunc(choice, func(field string) bool { return len(t.columnsOf(field)) > 0 }) {
			continue
		}
		meant := ""
		for _, name := range t.header {
			if near := t.nearest(name, choice); near != "" && t.fields[fold(name)] == "" {
				meant = fmt.Sprintf("; did you mean %s by %s?", near, name)
			}
		}
		return &FileError{fmt.Sprintf("the file has no column for %s%s; name it with --map COLUMN=%s, or the shop with --from; the "+
			"columns are %s",
			strings.Join(choice, " or "), meant, choice[0], shown(t.header))}
	}
	return nil
}

// shown lists the first names of many.
func shown(names []string) string {
	const most = 12
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// record is what is known of one object: a line, or several.
type record struct {
	lines []line
	table *table
}

// value returns a field's value on the first line.
func (r *record) value(field string) string {
	value, _ := r.on(0, field)
	return value
}

// on returns a field's value on one of the lines, and the column that it is in.
func (r *record) on(n int, field string) (value, column string) {
	places := r.table.columnsOf(field)
	if len(places) == 0 {
		return "", field
	}
	for _, i := range places {
		if i >= len(r.lines[n].values) {
			continue
		}
		value := strings.TrimSpace(r.lines[n].values[i])
		if r.table.separator != 0 {
			value = unescapeCell(value)
		}
		if value != "" {
			return value, r.table.header[i]
		}
	}
	return "", r.table.header[places[0]]
}

// columnOf returns the column that a field is read from.
func (r *record) columnOf(field string) string {
	_, column := r.on(0, field)
	return column
}

// key is what the lines of a record share: the value of the group's field, else the id. It is empty if
// each line is a record of its own.
func (r *record) key() string {
	if r.table.Group == "" {
		return ""
	}
	return cmp.Or(r.value(r.table.Group), r.value("id"))
}

// goesOn reports whether a line is one of the same record: it has the group's value, or none, and no
// other id or buyer.
func (r *record) goesOn(further *record) bool {
	for _, field := range []string{r.table.Group, "id", "customer"} {
		if other := further.value(field); other != "" && other != r.value(field) {
			return false
		}
	}
	if _, orders := r.table.Columns["itemTitle"]; orders && !further.hasItem(0) {
		return false // it is an order once more
	}
	email := further.value("email")
	return email == "" || strings.EqualFold(email, r.value("email"))
}

// hasItem reports whether a line has an item of an order: anything but zeros in one of the columns of items.
func (r *record) hasItem(n int) bool {
	for _, field := range []string{"itemTitle", "itemProduct", "itemSku", "itemQuantity", "itemPrice", "itemTotal"} {
		if text, _ := r.on(n, field); strings.Trim(text, "0.,") != "" {
			return true
		}
	}
	return false
}
