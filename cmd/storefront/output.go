package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/validate"
)

// moment is a date-time in the API's form; nil is null.
type moment struct{ at *time.Time }

// MarshalJSON formats the moment.
func (m moment) MarshalJSON() ([]byte, error) {
	if m.at == nil {
		return []byte("null"), nil
	}
	return apijson.AppendTime(nil, *m.at), nil
}

// String formats the moment for a table.
func (m moment) String() string {
	if m.at == nil {
		return absent
	}
	return strings.Trim(string(apijson.AppendTime(nil, *m.at)), `"`)
}

// when is a message's moment for a table.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return moment{}.String()
	}
	at := t.AsTime()
	return moment{&at}.String()
}

// orDash is a text that may be absent, for a table.
func orDash(text *string) string {
	if text == nil {
		return absent
	}
	return *text
}

// value prints a value: in JSON, else a line for each field.
func (s *session) value(v any) error {
	text, err := plainJSON(v)
	if err != nil {
		return err
	}
	return s.print(text)
}

// print prints a JSON object.
func (s *session) print(object []byte) error {
	if s.json {
		_, err := s.out.Write(append(object, '\n'))
		return err
	}
	var whose struct{ Currency string } // of the amounts, if the object has one
	_ = json.Unmarshal(object, &whose)  // An object it is.
	// In one write, so that a reader who goes after the line that it sought has them all.
	var lines bytes.Buffer
	w := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	s.lines(w, "", object, whose.Currency)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := s.out.Write(lines.Bytes())
	return err
}

// lines writes a line for each plain value in a JSON value, named by its path, for each list of plain values, and for what
// is empty.
func (s *session) lines(w io.Writer, path string, value json.RawMessage, currency string) {
	var items []json.RawMessage
	members, err := membersOf(value)
	nested := err == nil || json.Unmarshal(value, &items) == nil && items != nil
	var plain []string
	for i, item := range items {
		if item[0] == '{' || item[0] == '[' {
			s.lines(w, path+"["+strconv.Itoa(i)+"]", item, currency)
		} else {
			plain = append(plain, shown(path, item, currency))
		}
	}
	for _, m := range members {
		s.lines(w, strings.TrimPrefix(path+"."+m.name, "."), m.value, currency)
	}
	switch {
	case !nested:
		plain = []string{shown(path, value, currency)}
	case len(items)+len(members) == 0:
		plain = []string{absent}
	}
	if len(plain) > 0 {
		_, _ = fmt.Fprintf(w, "%s:\t%s\n", path, s.terminal.paint(strings.Join(plain, ", "))) // It writes to a buffer.
	}
}

// shown is a plain JSON value for a reader: an amount, which its name tells, in the currency.
func shown(path string, value json.RawMessage, currency string) string {
	minor, err := strconv.ParseInt(string(value), 10, 64)
	name := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	if err == nil && currency != "" && (strings.HasSuffix(name, "amount") || name == "totalpaid") {
		return validate.FormatAmount(minor, currency)
	}
	return visible(textOf(value))
}

// textOf is a JSON value for a reader.
func textOf(value json.RawMessage) string { return cmp.Or(csvText(value), absent) }

// list prints a list: in JSON an array, else a table.
func (s *session) list(objects [][]byte, header []string, rows [][]string) error {
	if s.json {
		_, err := fmt.Fprintf(s.out, "[%s]\n", bytes.Join(objects, []byte{','}))
		return err
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = visible(cell)
		}
	}
	return s.writeTable(fit(columnsOf(header, rows), s.terminal.columns))
}

// plainJSON encodes a value without the escapes that only a browser needs.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// indented is JSON for a reader, with escapes for what a terminal would not show as it is.
func indented(text []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return visible(string(text))
	}
	var shown strings.Builder
	for _, r := range b.String() {
		if unicode.IsPrint(r) || r == '\n' {
			shown.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&shown, "\\u%04x", unit)
		}
	}
	return shown.String()
}

// absent stands for what is null or empty.
const absent = "-"

// visible quotes a text that a terminal would not show as it is: texts come from clients.
func visible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
		return strconv.Quote(text)
	}
	return text
}

// escaped is a text with escapes for what a terminal would not show as it is: errors name what files and
// servers hold.
func escaped(text string) string {
	var shown strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			shown.WriteRune(r)
			continue
		}
		shown.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return shown.String()
}
