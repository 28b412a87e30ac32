package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/wire"
)

// moment is a date-time in the API's form; nil is null.
type moment struct{ at *time.Time }

// MarshalJSON formats the moment.
func (m moment) MarshalJSON() ([]byte, error) {
	if m.at == nil {
		return []byte("null"), nil
	}
	return wire.AppendTime(nil, *m.at), nil
}

// String formats the moment for a table.
func (m moment) String() string {
	if m.at == nil {
		return absent
	}
	return strings.Trim(string(wire.AppendTime(nil, *m.at)), `"`)
}

// when is a message's moment for a table.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return moment{}.String()
	}
	at := t.AsTime()
	return moment{&at}.String()
}

// money is an amount in minor units for a table.
func money(amount int64, currency string) string {
	return strconv.FormatInt(amount, 10) + " " + currency
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
	// In one write, so that a reader who goes after the line that it sought has them all.
	var lines bytes.Buffer
	w := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := s.fieldLines(w, d, ""); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := s.out.Write(lines.Bytes())
	return err
}

// list prints a list: in JSON the array, else a table.
func (s *session) list(array []byte, header []string, rows [][]string) error {
	if s.json {
		_, err := s.out.Write(append(array, '\n'))
		return err
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = visible(cell)
		}
	}
	return s.writeTable(fit(header, rows, s.terminal.columns), rows)
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

// fieldLines writes a line for each plain value inside the next one, named by its path, for each list of plain
// values, and for what is empty.
func (s *session) fieldLines(w *tabwriter.Writer, d *json.Decoder, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	return s.fieldLine(w, d, path, token)
}

// fieldLine is fieldLines for the value that begins with a token.
func (s *session) fieldLine(w *tabwriter.Writer, d *json.Decoder, path string, token json.Token) error {
	delim, nested := token.(json.Delim)
	if !nested {
		return s.line(w, path, plainText(token))
	}
	if !d.More() {
		if err := s.line(w, path, absent); err != nil {
			return err
		}
	}
	var plain []string
	for i := 0; d.More(); i++ {
		next, err := d.Token()
		if err != nil {
			return err
		}
		_, object := next.(json.Delim)
		switch {
		case delim == '{':
			err = s.fieldLines(w, d, strings.TrimPrefix(path+"."+next.(string), "."))
		case object:
			err = s.fieldLine(w, d, path+"["+strconv.Itoa(i)+"]", next)
		default:
			plain = append(plain, plainText(next))
		}
		if err != nil {
			return err
		}
	}
	if len(plain) > 0 {
		if err := s.line(w, path, strings.Join(plain, ", ")); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (s *session) line(w *tabwriter.Writer, path, text string) error {
	_, err := fmt.Fprintf(w, "%s:\t%s\n", path, s.terminal.paint(text))
	return err
}

// absent stands for what is null or empty.
const absent = "-"

// plainText is a plain JSON value for a reader.
func plainText(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return absent
	case string:
		if v == "" {
			return absent
		}
		return visible(v)
	default:
		return fmt.Sprint(v)
	}
}

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
