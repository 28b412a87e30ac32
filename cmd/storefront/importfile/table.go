package importfile

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
	"unicode"
	"unicode/utf8"

	"github.com/agext/levenshtein"
	"github.com/go-json-experiment/json/jsontext"

	"go.storefront.example/server/transfer"
)

// line has its number and its values by column; of a JSON object also the text, the columns that it has (given), and its
// members' problems.
type line struct {
	number int
	values []string
	text   string
	given  map[int]bool
	bad    []LineError
	notes  []LineError
}

type table struct {
	source
	header         []string
	headerFields   []string // the field as which each column is read, or ""
	separator      rune     // 0 for JSON objects
	hasSepLine     bool     // true if a first line such as sep=; names the separator
	headerLine     int
	encoding       textEncoding
	letters        *letterSamples
	unreadMembers  []string          // members of a JSON file outside the list of rows
	indexByName    map[string]int    // by the folded name
	fields         map[string]string // the field as which a column is read, by the column's folded name
	indexesByField map[string][]int  // by field; several columns may be read as one field
	read           func() (line, error)
	peeked         *line // the next record's first line, if it was read already
	peekErr        error // the error with which peeked was read
}

// otherTypes are the fields whose values in JSON may be true or false, or a list.
var otherTypes = []string{"refunded", "published", "disputed", "disputeWon", "preorder", "freeTrial", "items"}

// reasonColumn is the first column, or member, of rejected rows.
const reasonColumn = "reason"

func newTable(s source) *table {
	t := &table{source: s, indexByName: map[string]int{}, fields: map[string]string{}, indexesByField: map[string][]int{}}
	rank := map[string]int{}
	for _, field := range slices.Sorted(maps.Keys(s.Columns)) {
		for i, name := range s.Columns[field] {
			name = normalize(name)
			if t.fields[name] == "" || i < rank[name] {
				t.fields[name], rank[name] = field, i
			}
		}
	}
	return t
}

// newCSV reads the header, before which blank lines and a line that names the separator may come.
func newCSV(text *bufio.Reader, s source, e textEncoding) (*table, error) {
	head, _ := text.Peek(headBytes)
	lines, t := newLines(text, e), newTable(s)
	var mark int
	if t.separator, mark = separatorIn(head); mark > 0 {
		lines.Scan()
		lines.number, t.hasSepLine = 1, true
	}
	lines.csv = csv.NewReader(lines)
	lines.csv.Comma, lines.csv.FieldsPerRecord, lines.separator = t.separator, -1, t.separator
	lines.csv.TrimLeadingSpace = !unicode.IsSpace(t.separator) // so that a quote after a comma and a space begins a value in quotes
	var header []string
	var at int
	var err error
	for err == nil && blank(header) {
		header, at, err = lines.record()
	}
	if bad, ok := errors.AsType[*LineError](err); ok {
		return nil, &FileError{fmt.Sprintf("line %d %s", at, bad.Problem)}
	} else if errors.Is(err, io.EOF) {
		return nil, &FileError{"the file is empty: there is nothing to import"}
	} else if err != nil {
		return nil, err
	}
	for _, name := range header {
		t.add(UnescapeCell(name))
	}
	t.headerLine, t.letters, t.encoding = at, e.samples(), e
	t.letters.add(at, header, nil)
	t.read = func() (line, error) {
		values, at, err := lines.record()
		if extra := len(values) - len(t.header); extra > 0 && blank(values[len(t.header):]) {
			values = values[:len(t.header)] // a spreadsheet may write empty cells beyond the header
		}
		l := line{number: at, values: values}
		t.letters.add(at, values, t.isRead)
		for i, text := range lines.recordLines { // a stray quote makes the rows below it a part of a value
			// A separator before a space is probably a comma of a sentence.
			if i > 0 && strings.Count(text, string(t.separator)) == len(t.header)-1 && !strings.Contains(text, string(t.separator)+" ") {
				l.notes = append(l.notes, LineError{Line: at + i, Value: text, Related: fmt.Sprint("line ", at),
					Problem: "looks like a row, but is read as a part of a value in quotes that begins further up"})
			}
		}
		switch {
		case err != nil || blank(values):
		case len(values) > len(t.header):
			err = &LineError{Line: at, Problem: fmt.Sprintf("has %d columns, but the header has %d", len(values), len(t.header))}
		case len(values) < len(t.header):
			l.notes = append(l.notes, LineError{Line: at, Problem: "has fewer columns than the header; those that it lacks are read as empty"})
		}
		return l, err
	}
	return t, nil
}

func (t *table) isRead(column int) bool {
	return column < len(t.header) && t.headerFields[column] != ""
}

func (t *table) columnsIn(fields []string) (names []string) {
	for i, name := range t.header {
		if slices.Contains(fields, t.headerFields[i]) {
			names = append(names, name)
		}
	}
	return names
}

const maxTitleLines = 20

// titleError looks for a title above the header: the first line is none, but one below has each needed field and more names of
// columns. A row may have one such name in a cell, such as Mobile, the type of its phone.
func (t *table) titleError(head []byte, needed [][]string, columns []Column) error {
	number, fields := 0, slices.Collect(maps.Keys(t.Columns))
	for text := range bytes.Lines(head) {
		number++
		if number > t.headerLine+maxTitleLines {
			break
		}
		if number <= t.headerLine || isBlank(string(text)) {
			continue
		}
		cells := csv.NewReader(bytes.NewReader(text))
		cells.LazyQuotes, cells.Comma = true, t.separator
		if !t.hasSepLine {
			cells.Comma = separatorOf(text)
		}
		names, err := cells.Read()
		if err != nil {
			continue
		}
		below := newTable(t.source)
		for _, name := range names {
			below.add(name)
		}
		if below.checkColumns(needed, columns) == nil && len(below.columnsIn(fields)) > len(t.columnsIn(fields)) {
			title := strings.Fields(strings.Join(t.header, ", "))
			return &FileError{fmt.Sprintf("line %d (%q) is a title above the header, which is line %d: delete the lines above that",
				t.headerLine, strings.TrimRight(strings.Join(title[:min(len(title), 12)], " "), " ,"), number)}
		}
	}
	return nil
}

func blank(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) != "" })
}

// maxMembers bounds a JSON file's columns, because a line may have a value for each. Beyond it a new member gets one only if it
// is a field.
const maxMembers = 1000

// newObjects has a column for each member, such as customer.email for one inside an object. With strict, objects with unknown
// members are bad.
func newObjects(next func() ([]byte, int, error), s source, e textEncoding, strict bool) *table {
	t := newTable(s)
	t.letters, t.encoding = e.samples(), e
	if strict {
		t.Group = "" // each object is a whole record: objects with one reference are not joined
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
		// encoding/json reads the last of two members with one name, and invalid letters as U+FFFD.
		_, err = jsontext.NewDecoder(bytes.NewReader(text)).ReadValue()
		if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			name := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
			return l, &LineError{Line: at, Column: name, Problem: "is JSON that can be read in two ways: " + wrong.Err.Error()}
		}
		t.flatten(&l, "", object, strict)
		t.letters.add(at, l.values, t.isRead)
		return l, nil
	}
	return t
}

// flatten puts prefix before the members' names: "" or, for the object in the member customer, "customer.".
func (t *table) flatten(l *line, prefix string, object map[string]any, strict bool) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		name = prefix + name
		if inner, ok := value.(map[string]any); ok {
			t.flatten(l, name+".", inner, strict)
			continue
		}
		isRead := t.fields[normalize(name)] != ""
		i, known := t.indexByName[normalize(name)]
		switch {
		case !isRead && strict && !slices.Contains(t.ignored, normalize(name)):
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
			list, _ := json.Marshal(value) // cannot fail, because the value was read from JSON
			l.values[i] = string(list)
		default:
			l.values[i] = fmt.Sprint(value)
		}
		_, isText := value.(string)
		_, isNumber := value.(json.Number)
		if isRead && value != nil && !isText && !isNumber && !slices.Contains(otherTypes, t.fields[normalize(name)]) {
			l.bad = append(l.bad, LineError{Line: l.number, Column: name, Problem: "must be a text or a number", Value: l.values[i]})
		}
	}
}

// add returns the new column's index. Of two with one name, the first is read.
func (t *table) add(name string) int {
	at := len(t.header)
	if _, twice := t.indexByName[normalize(name)]; !twice {
		t.indexByName[normalize(name)] = at
	}
	t.header, t.headerFields = append(t.header, name), append(t.headerFields, t.fields[normalize(name)])
	clear(t.indexesByField)
	return at
}

// maxRecordLines bounds the memory for a record.
const maxRecordLines = 10_000

// next returns the consecutive lines with the same value of the field Group, so that no order lacks one of its items. If one
// cannot be read, it returns an error and what was read.
func (t *table) next() (*record, error) {
	begun, err := t.nextFilled()
	r := &record{lines: []line{begun}, table: t}
	for r.key() != "" {
		following, failed := t.nextFilled()
		_, unreadable := errors.AsType[*LineError](failed)
		switch {
		case failed != nil && !unreadable || !r.continuedBy(&record{lines: []line{following}, table: t}):
			t.peeked, t.peekErr = &following, failed
			return r, err
		case len(r.lines) < maxRecordLines:
			if r.lines = append(r.lines, following); err == nil {
				err = failed
			}
		case err == nil:
			err = &LineError{Line: following.number, Problem: fmt.Sprintf("belongs to a record of more than %d lines; %s may be empty",
				maxRecordLines, r.columnOf(t.Group))}
		}
	}
	return r, err
}

// nextFilled returns the next line that is not blank, first one that next has read ahead.
func (t *table) nextFilled() (line, error) {
	if t.peeked != nil {
		l, err := *t.peeked, t.peekErr
		t.peeked, t.peekErr = nil, nil
		return l, err
	}
	for {
		if l, err := t.read(); err != nil || t.separator == 0 || !blank(l.values) {
			return l, err
		}
	}
}

func (t *table) columnsOf(field string) []int {
	indexes, known := t.indexesByField[field]
	if !known {
		for _, name := range t.Columns[field] {
			if i, ok := t.indexByName[normalize(name)]; ok && !slices.Contains(indexes, i) {
				indexes = append(indexes, i)
			}
		}
		t.indexesByField[field] = indexes
	}
	return indexes
}

// readColumns returns the read columns, with their fields if the names differ. It adds a question to an unread one that is
// probably misspelled.
func (t *table) readColumns(fields []string) (read, unread []string) {
	for i, name := range t.header {
		field := t.fields[normalize(name)]
		switch {
		case slices.Contains(t.ignored, normalize(name)):
		case field != "" && t.indexByName[normalize(name)] == i && normalize(field) != normalize(name):
			read = append(read, name+" as "+field)
		case field != "" && t.indexByName[normalize(name)] == i:
			read = append(read, name)
		default:
			if near, field := t.nearest(name, fields); near != "" {
				name += fmt.Sprintf(" (did you mean %s? --map %s reads it)", near, mapping(name, field))
			}
			unread = append(unread, name)
		}
	}
	return read, append(unread, t.unreadMembers...)
}

// addUnread keeps the name of a JSON member outside the list of rows.
func (t *table) addUnread(member string) {
	if !slices.Contains(t.unreadMembers, member) && len(t.unreadMembers) < maxMembers {
		t.unreadMembers = append(t.unreadMembers, member)
	}
}

// nearest returns the column that a person probably meant by a missing field, or "". People rarely misspell the first letter,
// and "rate" is not "date".
func (t *table) nearest(name string, fields []string) (best, bestField string) {
	word := normalize(name)
	farthest := min(2, len(word)/2)
	for _, field := range fields {
		if len(t.columnsOf(field)) > 0 {
			continue
		}
		for _, column := range t.Columns[field] {
			known := normalize(column)
			if d := levenshtein.Distance(word, known, nil); d <= farthest && word[:1] == known[:1] {
				best, bestField, farthest = column, field, d-1
			}
		}
	}
	return best, bestField
}

// mapping returns the value of --map that reads a column as a field, quoted for a shell.
func mapping(column, field string) string {
	text := column + "=" + field
	special := func(r rune) bool { return r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	if strings.ContainsFunc(column, special) {
		text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

var needed = map[transfer.Kind][][]string{
	transfer.Products:  {{"title"}, {"price", "priceAmount"}},
	transfer.Customers: {{"email", "phone"}},
	transfer.Orders:    {{"reference", "id"}, {"email", "phone", "customer"}},
}

// keys has groups of fields that identify a row to update; each needs one.
var keys = map[transfer.Kind][][]string{
	transfer.Products: {{"title", "id", "sku", "slug"}}, transfer.Customers: {{"email", "phone", "id"}}, transfer.Orders: {{"reference", "id"}},
}

// checkColumns requires a column for each needed field, and each column that --map names.
func (t *table) checkColumns(needed [][]string, columns []Column) error {
	for _, c := range columns {
		if _, ok := t.indexByName[normalize(c.Name)]; !ok && c.Field != "" {
			return &FileError{fmt.Sprintf("the file has no column %s, which --map names; its columns are %s", c.Name, shortList(t.header))}
		}
	}
	for _, choice := range needed {
		if slices.ContainsFunc(choice, func(field string) bool { return len(t.columnsOf(field)) > 0 }) {
			continue
		}
		meant, column, field := "", "COLUMN", choice[0]
		for _, name := range t.header {
			if near, nearField := t.nearest(name, choice); near != "" && t.fields[normalize(name)] == "" {
				meant, column, field = fmt.Sprintf("; did you mean %s by %s?", near, name), name, nearField
			}
		}
		return &FileError{fmt.Sprintf("the file has no column for %s%s; name it with --map %s, or the shop with --from; the "+
			"columns are %s", strings.Join(choice, " or "), meant, mapping(column, field), shortList(t.header))}
	}
	return nil
}

func shortList(names []string) string {
	const maxNames = 12
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

type record struct {
	lines []line
	table *table
}

func (r *record) value(field string) string {
	value, _ := r.valueOn(0, field)
	return value
}

// valueOn returns a value on line n, from 0, and its column; without one, the field's first column, or the field.
func (r *record) valueOn(n int, field string) (value, column string) {
	indexes := r.table.columnsOf(field)
	if len(indexes) == 0 {
		return "", field
	}
	for _, i := range indexes {
		if value := r.cell(n, i); value != "" {
			return value, r.table.header[i]
		}
	}
	return "", r.table.header[indexes[0]]
}

func (r *record) cell(n, column int) string {
	if column >= len(r.lines[n].values) {
		return ""
	}
	value := strings.TrimSpace(r.lines[n].values[column])
	if r.table.separator != 0 {
		value = UnescapeCell(value)
	}
	return value
}

func (r *record) columnOf(field string) string {
	_, column := r.valueOn(0, field)
	return column
}

// key is what a record's lines share: the field Group, or else the id. "" means that no line can follow.
func (r *record) key() string {
	if r.table.Group == "" {
		return ""
	}
	return cmp.Or(r.value(r.table.Group), r.value("id"))
}

// continuedBy reports whether next, of one line, is a further line of r: with the same group or none, and no other id, buyer or
// e-mail. A further line of an order has an item, and without a group or id no status, amount or buyer, because it may be an
// order without a reference.
func (r *record) continuedBy(next *record) bool {
	for _, field := range []string{r.table.Group, "id", "customer"} {
		if other := next.value(field); other != "" && other != r.value(field) {
			return false
		}
	}
	begins := cmp.Or(next.value("status"), next.value("total"), next.value("amount"), next.value("email"), next.value("phone")) != ""
	if _, orders := r.table.Columns["itemTitle"]; orders && (!next.hasItem(0) || next.key() == "" && begins) {
		return false // a line of the same order without an item repeats the order
	}
	email := next.value("email")
	return email == "" || strings.EqualFold(email, r.value("email"))
}

// hasItem looks for a value other than zero in the columns of items.
func (r *record) hasItem(n int) bool {
	for _, field := range []string{"itemTitle", "itemProduct", "itemSku", "itemQuantity", "itemPrice", "itemTotal"} {
		if text, _ := r.valueOn(n, field); strings.Trim(text, "0.,") != "" {
			return true
		}
	}
	return false
}
