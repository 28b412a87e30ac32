package file

import "strings"

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
	places, header := r.table.columnsOf(field)
	if len(places) == 0 {
		return "", field
	}
	for _, i := range places {
		if i >= len(r.lines[n].values) {
			continue
		}
		if value := strings.TrimSpace(r.lines[n].values[i]); value != "" {
			return unquoted(value), header[i]
		}
	}
	return "", header[places[0]]
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
