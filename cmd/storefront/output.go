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

// money is a number of a JSON object for a reader: formatted if it is an amount, by its name, in the object's currency.
func (o *objectLines) money(path string, n json.Number) string {
	minor, err := n.Int64()
	if name := path[strings.LastIndexByte(path, '.')+1:]; err != nil || o.currency == "" || !strings.HasSuffix(strings.ToLower(name),
		"amount") && name != "totalPaid" {
		return n.String()
	}
	return validate.FormatAmount(minor, o.currency)
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
	o := objectLines{session: s, w: tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0), d: json.NewDecoder(bytes.NewReader(object))}
	o.d.UseNumber()
	var whose struct{ Currency string }
	if json.Unmarshal(object, &whose) == nil {
		o.currency = whose.Currency
	}
	if err := o.fields(""); err != nil {
		return err
	}
	if err := o.w.Flush(); err != nil {
		return err
	}
	_, err := s.out.Write(lines.Bytes())
	return err
}

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

// objectLines writes a JSON object for a reader.
type objectLines struct {
	*session
	w        *tabwriter.Writer
	d        *json.Decoder
	currency string // of the amounts, if the object has one
}

// fields writes a line for each plain value inside the next one, named by its path, for each list of plain
// values, and for what is empty.
func (o *objectLines) fields(path string) error {
	token, err := o.d.Token()
	if err != nil {
		return err
	}
	return o.field(path, token)
}

// field is fields for the value that begins with a token.
func (o *objectLines) field(path string, token json.Token) error {
	delim, nested := token.(json.Delim)
	if !nested {
		return o.line(path, o.plain(path, token))
	}
	if !o.d.More() {
		if err := o.line(path, absent); err != nil {
			return err
		}
	}
	var plain []string
	for i := 0; o.d.More(); i++ {
		next, err := o.d.Token()
		if err != nil {
			return err
		}
		_, object := next.(json.Delim)
		switch {
		case delim == '{':
			err = o.fields(strings.TrimPrefix(path+"."+next.(string), "."))
		case object:
			err = o.field(path+"["+strconv.Itoa(i)+"]", next)
		default:
			plain = append(plain, o.plain(path, next))
		}
		if err != nil {
			return err
		}
	}
	if len(plain) > 0 {
		if err := o.line(path, strings.Join(plain, ", ")); err != nil {
			return err
		}
	}
	_, err := o.d.Token()
	return err
}

func (o *objectLines) line(path, text string) error {
	_, err := fmt.Fprintf(o.w, "%s:\t%s\n", path, o.terminal.paint(text))
	return err
}

// plain is a plain JSON value for a reader.
func (o *objectLines) plain(path string, token json.Token) string {
	switch v := token.(type) {
	case nil:
		return absent
	case json.Number:
		return o.money(path, v)
	case string:
		if v == "" {
			return absent
		}
		return visible(v)
	default:
		return fmt.Sprint(v)
	}
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
