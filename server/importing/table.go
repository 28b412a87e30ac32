package importing

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// line is one line of a table: its number, its values in the order of the columns, and its text.
type line struct {
	number int
	values []string
	text   string
}

// table reads a CSV file, or JSON lines of flat objects, as lines of columns.
type table struct {
	source
	header    []string
	separator rune              // 0 for JSON
	places    map[string]int    // by fold of the name
	fields    map[string]string // by fold of a column's name
	of        map[string][]int  // the columns of each field that the file has
	read      func() (line, error)
	ahead     *line             // a line that was read, of the next record
	failed    error             // of the line after the record
	groups    map[uint64]uint64 // hashes of the groups that were read, and of their lines
	seed      maphash.Seed
	leftOut   func(l line, value, why string)
}

// reasonColumn is the first column of the file of rejected rows, and the first member of its objects.
const reasonColumn = "reason"

// fold makes names of columns and statuses comparable: Cover URL, cover_url and coverUrl are one, and so are
// Téléphone and telephone.
func fold(name string) string {
	for i := range len(name) {
		if name[i] >= 0x80 {
			name, _, _ = transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), name)
			break
		}
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == '-' || r == '\'' || r == '’' {
			return -1
		}
		return r
	}, name))
}

func newTable(s source, read func(*table) (line, error)) *table {
	t := &table{source: s, places: map[string]int{}, fields: map[string]string{}, of: map[string][]int{},
		groups: map[uint64]uint64{}, seed: maphash.MakeSeed()}
	rank := map[string]int{}
	for _, field := range slices.Sorted(maps.Keys(s.columns)) {
		for i, name := range s.columns[field] {
			name = fold(name)
			if t.fields[name] == "" || i < rank[name] {
				t.fields[name], rank[name] = field, i
			}
		}
	}
	t.read = func() (line, error) { return read(t) }
	return t
}

// newCSV reads the header of a CSV file.
func newCSV(text *bufio.Reader, s source) (*table, error) {
	head, _ := text.Peek(headBytes)
	separator, ending := formOf(head)
	var in io.Reader = text
	if ending == '\r' {
		in = crAsLF{text}
	}
	lines := newLines(in)
	t := newTable(s, func(t *table) (line, error) {
		text, values, at, err := lines.record(separator)
		if err == nil && len(values) != len(t.header) {
			err = &LineError{Line: at, Problem: fmt.Sprintf("has %d columns, but the header has %d", len(values), len(t.header))}
		}
		return line{at, values, text}, err
	})
	t.separator = separator
	_, header, _, err := lines.record(separator)
	if err != nil {
		return nil, err
	}
	for _, name := range header {
		t.add(name)
	}
	return t, nil
}

// maxMembers bounds the members of JSON lines that are kept though nothing reads them: each line that waits to
// be stored has a place for every column.
const maxMembers = 1000

// newObjects reads flat JSON objects as a table whose columns are the members' names.
func newObjects(next func() ([]byte, int, error), s source) *table {
	return newTable(s, func(t *table) (line, error) {
		text, at, err := next()
		if err != nil {
			return line{}, err
		}
		l := line{number: at, text: string(text), values: make([]string, len(t.header))}
		var object map[string]any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&object); err != nil || decoder.More() {
			return l, &LineError{Line: at, Problem: "must be one JSON object"}
		}
		for name, value := range object {
			isRead := t.fields[fold(name)] != ""
			i, known := t.places[fold(name)]
			if !known && len(t.header) >= maxMembers && !isRead {
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
				if isRead {
					return l, &LineError{Line: at, Column: name, Problem: "must be a text, a number, true or false"}
				}
			default:
				if l.values[i] != "" && isRead {
					return l, &LineError{Line: at, Column: t.header[i], Problem: "stands in the line twice, in two spellings"}
				}
				l.values[i] = fmt.Sprint(value)
			}
		}
		return l, nil
	})
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

// mapped adds the columns of --map, and for a file of one's own each column that is named as a field.
func (s source) mapped(fields []string, columns []Column) (source, error) {
	all := map[string][]string{}
	maps.Copy(all, s.columns)
	if !s.known {
		for _, field := range fields {
			all[field] = append([]string{field}, ownNames[field]...)
		}
	}
	chosen := map[string][]string{}
	for _, c := range columns {
		for _, of := range []map[string][]string{all, chosen} { // a mapped column counts for nothing else
			for field, names := range of {
				of[field] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fold(name) == fold(c.Name) })
			}
		}
		switch {
		case c.Field == "":
			s.ignored = append(s.ignored, c.Name)
		case !slices.Contains(fields, c.Field):
			return s, fmt.Errorf("%w: --map %s=%s: must be one of %s", ErrOptions, c.Name, c.Field, strings.Join(fields, ", "))
		default:
			chosen[c.Field] = append(chosen[c.Field], c.Name)
		}
	}
	for field, names := range chosen {
		all[field] = append(names, all[field]...)
	}
	s.columns = all
	return s, nil
}

// next returns the next record: a line, or consecutive lines of one group. With the error of a line that cannot
// be read it returns what is known of the line.
func (t *table) next() (*record, error) {
	for {
		first, err := t.take()
		if err != nil {
			return &record{lines: []line{first}, table: t}, err
		}
		r := &record{lines: []line{first}, table: t}
		if t.skips(r) {
			continue
		}
		field, key := r.key()
		for key != "" {
			more, err := t.take()
			if err != nil {
				t.ahead, t.failed = &more, err
				break
			}
			if !r.goesOn(&record{lines: []line{more}, table: t}) {
				t.ahead = &more
				break
			}
			if len(r.lines) == maxRecordLines {
				problem := fmt.Sprintf("belongs to a record of more than %d lines; %s may be empty", maxRecordLines, r.columnOf(field))
				return r, &LineError{Line: more.number, Problem: problem, last: true}
			}
			r.lines = append(r.lines, more)
		}
		return r, t.apart(r)
	}
}

// skips reports whether a record is none that is imported, and why in the report.
func (t *table) skips(r *record) bool {
	value := r.value(t.skipBy)
	for word := range strings.SplitSeq(value, ",") {
		why, skipped := t.skip[fold(strings.TrimPrefix(strings.TrimSpace(word), "wc-"))]
		if skipped && why != "" {
			t.leftOut(r.lines[0], value, why)
		}
		if skipped {
			return true
		}
	}
	return false
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
		const problem = "stands further up too; all lines of one record must follow each other and have one id and one buyer"
		return &LineError{Line: r.lines[0].number, Column: r.columnOf(field), Problem: problem, Value: key}
	}
	t.groups[group] = whole.Sum64()
	return nil
}

// take returns the next line that is not blank.
func (t *table) take() (line, error) {
	if t.ahead != nil {
		l, err := *t.ahead, t.failed
		t.ahead, t.failed = nil, nil
		return l, err
	}
	for {
		l, err := t.read()
		if err != nil || slices.ContainsFunc(l.values, func(v string) bool { return strings.TrimSpace(v) != "" }) {
			return l, err
		}
	}
}

// columnsOf returns the places of the columns of a field.
func (t *table) columnsOf(field string) []int {
	places, known := t.of[field]
	if !known {
		for _, name := range t.columns[field] {
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
		case fold(name) == reasonColumn || slices.ContainsFunc(t.ignored, func(other string) bool { return fold(other) == fold(name) }):
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

// nearest returns the name of a column that is read and that a name may be a misspelling of, or "".
func (t *table) nearest(name string, fields []string) string {
	word := fold(name)
	farthest := min(2, len(word)/4)
	best := ""
	for _, field := range fields {
		if len(t.columnsOf(field)) > 0 {
			continue
		}
		for _, other := range t.columns[field] {
			candidate := fold(other)
			if max(len(word)-len(candidate), len(candidate)-len(word)) > farthest {
				continue
			}
			if d := distance(word, candidate); d <= farthest {
				best, farthest = other, d-1
			}
		}
	}
	return best
}

// distance is how many letters must be added, removed, replaced or swapped with the next to make a of b.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1], row[j]) + 1
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], last[j])
			} else {
				row[j+1] = min(row[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// needed are the fields without one of which no row of a kind can be imported.
var needed = map[Kind][][]string{
	Products:  {{"title"}, {"price", "priceAmount"}},
	Customers: {{"email", "phone"}},
	Orders:    {{"reference", "id"}, {"email", "phone", "customer"}},
}

// complete refuses a header that lacks what the kind needs, or a column that --map names.
func (t *table) complete(kind Kind, columns []Column) error {
	for _, c := range columns {
		if _, there := t.places[fold(c.Name)]; !there && c.Field != "" {
			return &FileError{fmt.Sprintf("the file has no column %s, which --map names; its columns are %s", c.Name, shown(t.header))}
		}
	}
	for _, choice := range needed[kind] {
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
		if value := strings.TrimSpace(r.lines[n].values[i]); value != "" {
			return unquoted(value), r.table.header[i]
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
func (r *record) key() (field, value string) {
	if r.table.group == "" {
		return "", ""
	}
	if value = r.value(r.table.group); value != "" {
		return r.table.group, value
	}
	return "id", r.value("id")
}

// goesOn reports whether a line is one of the same record: it has the group's value, or none, and no
// other id or buyer.
func (r *record) goesOn(further *record) bool {
	for _, field := range []string{r.table.group, "id", "customer"} {
		if other := further.value(field); other != "" && other != r.value(field) {
			return false
		}
	}
	email := further.value("email")
	return email == "" || strings.EqualFold(email, r.value("email"))
}

// unquoted leaves out the apostrophe by which spreadsheets keep a number a text; that of a title such as
// '90s Hits belongs to it.
func unquoted(value string) string {
	if len(value) > 1 && value[0] == '\'' && strings.Trim(value[1:], "+0123456789 ().,/-") == "" {
		return value[1:]
	}
	return value
}
