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
		return "-"
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
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := fieldLines(w, d, ""); err != nil {
		return err
	}
	return w.Flush()
}

// list prints a list: in JSON the array, else a table.
func (s *session) list(array []byte, header []string, rows [][]string) error {
	if s.json {
		_, err := s.out.Write(append(array, '\n'))
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = visible(cell)
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
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

// fieldLines writes a line for each plain value inside the next one, named by its path.
func fieldLines(w *tabwriter.Writer, d *json.Decoder, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		_, err := fmt.Fprintf(w, "%s:\t%s\n", path, plainText(token))
		return err
	}
	for i := 0; d.More(); i++ {
		at := path + "[" + strconv.Itoa(i) + "]"
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			at = strings.TrimPrefix(path+"."+name.(string), ".")
		}
		if err := fieldLines(w, d, at); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// plainText is a plain JSON value for a reader.
func plainText(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "-"
	case string:
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
