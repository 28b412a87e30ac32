package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/validate"
)

// when formats a time for a table.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return absent
	}
	return strings.Trim(string(apijson.AppendTime(nil, t.AsTime())), `"`)
}

// value prints a value: in JSON, or a line for each field.
func (s *invocation) value(v any) error {
	text, err := plainJSON(v)
	if err != nil {
		return err
	}
	return s.print(text)
}

// print prints a JSON object.
func (s *invocation) print(object []byte) error {
	if s.json {
		_, err := s.out.Write(append(object, '\n'))
		return err
	}
	var whose struct{ Currency string } // the currency of the amounts, if the object has one
	_ = json.Unmarshal(object, &whose)  // no error: it is an object
	// One write, so that a reader that stops at a certain line has received all lines.
	var lines bytes.Buffer
	w := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	s.lines(w, "", object, whose.Currency)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := s.out.Write(lines.Bytes())
	return err
}

// lines writes a line for each plain value inside a JSON value, and names it by its path. A list of plain values gets one
// line, and so does an empty value.
func (s *invocation) lines(w io.Writer, path string, value json.RawMessage, currency string) {
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
		_, _ = fmt.Fprintf(w, "%s:\t%s\n", path, s.terminal.paint(strings.Join(plain, ", "))) // no error: a buffer cannot fail
	}
}

// shown formats a plain JSON value for a reader. A number named like an amount gets the currency's decimals, and every other
// whole number gets thousands separators.
func shown(path string, value json.RawMessage, currency string) string {
	minor, err := strconv.ParseInt(string(value), 10, 64)
	name := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	if err == nil && currency != "" && (strings.HasSuffix(name, "amount") || name == "totalpaid") {
		return validate.FormatAmount(minor, currency)
	}
	if err == nil {
		return grouped(minor)
	}
	return visible(textOf(value))
}

// textOf formats a JSON value for a reader.
func textOf(value json.RawMessage) string { return cmp.Or(csvText(value), absent) }

// objects prints JSON objects: as CSV with the columns of the object like, or else as a JSON array.
func (s *invocation) objects(like []byte, objects [][]byte) error {
	if s.csv {
		t, err := newCSV(s.out, like)
		if err != nil {
			return err
		}
		return t.add(objects)
	}
	_, err := fmt.Fprintf(s.out, "[%s]\n", bytes.Join(objects, []byte{','}))
	return err
}

// list prints rows as a table.
func (s *invocation) list(header []string, rows [][]string) error {
	return s.writeTable(fit(plainColumns(header, rows), s.terminal.columns))
}

// plainJSON encodes a value without HTML escapes.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// indented returns indented JSON, with escapes for characters that a terminal would not show.
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

// absent is shown for null or empty values.
const absent = "-"

// visible quotes a text with characters that a terminal would not show, because texts come from clients.
func visible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
		return strconv.Quote(text)
	}
	return text
}

// escaped escapes characters that a terminal would not show, because errors quote files and servers.
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

const (
	columnGap = "  "
	// minCut is the minimum length of a text that is cut.
	minCut = 12
	// shortID is how many digits at the end of an id are shown. These are its random part; the beginning is the time.
	// Commands accept the shown digits as an id.
	shortID = 8
)

// shownColumn is a column of a table with its cells. If the terminal is too narrow, fit first shortens ids and times. Then
// it leaves out optional columns, the rightmost first. Last, it cuts the texts of columns with cut. It never cuts other
// columns.
type shownColumn struct {
	name          string
	isID, isTime  bool
	cut, optional bool
	cells         []string
	width, room   int
}

func (c *shownColumn) measure() {
	c.width = text.StringWidthWithoutEscSequences(c.name)
	for _, cell := range c.cells {
		c.width = max(c.width, text.StringWidthWithoutEscSequences(cell))
	}
}

// atLeast is the column's minimum width when `room` characters of its text must show.
func (c *shownColumn) atLeast(room int) int {
	if c.cut {
		return min(c.width, max(room, len(c.name)))
	}
	return c.width
}

// plainColumns returns columns without ids and times, which are always shown whole.
func plainColumns(header []string, rows [][]string) []*shownColumn {
	all := make([]*shownColumn, len(header))
	for i, name := range header {
		all[i] = &shownColumn{name: name}
		for _, row := range rows {
			all[i].cells = append(all[i].cells, visible(row[i]))
		}
		all[i].measure()
	}
	return all
}

// fit makes columns fit a terminal's width; 0 means no limit.
func fit(all []*shownColumn, terminal int) []*shownColumn {
	whole := func(c *shownColumn) int { return c.width }
	if terminal == 0 || widthOf(all, whole) <= terminal {
		return all
	}
	for _, c := range all {
		for i, cell := range c.cells {
			switch {
			case c.isID:
				c.cells[i] = cell[max(0, len(cell)-shortID):]
			case c.isTime:
				c.cells[i] = shortTime(cell)
			}
		}
		c.measure()
	}
	roomy := func(c *shownColumn) int { return c.atLeast(c.room) }
	for i := len(all) - 1; i >= 0 && widthOf(all, roomy) > terminal; i-- {
		if all[i].optional {
			all = slices.Delete(all, i, i+1)
		}
	}
	for _, least := range []func(*shownColumn) int{roomy, func(c *shownColumn) int { return c.atLeast(minCut) }} {
		for widthOf(all, whole) > terminal {
			widest := slices.MaxFunc(all, func(a, b *shownColumn) int { return cmp.Compare(a.width-least(a), b.width-least(b)) })
			if widest.width == least(widest) {
				break
			}
			widest.width--
		}
	}
	for _, c := range all {
		for i, cell := range c.cells {
			c.cells[i] = text.Snip(cell, c.width, "…")
		}
	}
	return all
}

// widthOf returns the width of a line with these columns.
func widthOf(all []*shownColumn, of func(*shownColumn) int) int {
	sum := len(columnGap) * (len(all) - 1)
	for _, c := range all {
		sum += of(c)
	}
	return sum
}

var timeForm = regexp.MustCompile(`(\d{4})-(\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z`)

// shortTime shortens a date-time, which is in UTC: it drops the seconds and the current year.
func shortTime(cell string) string {
	parts := timeForm.FindStringSubmatch(cell)
	switch {
	case parts == nil:
		return cell
	case parts[1] == strconv.Itoa(time.Now().UTC().Year()):
		return parts[2] + " " + parts[3]
	}
	return parts[1] + "-" + parts[2] + " " + parts[3]
}

// writeTable writes columns side by side. The last one is not padded.
func (s *invocation) writeTable(all []*shownColumn) error {
	w := pretty.NewWriter()
	w.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: columnGap}, Options: pretty.OptionsNoBordersAndSeparators})
	w.SuppressTrailingSpaces()
	header := make(pretty.Row, len(all))
	for i, c := range all {
		header[i] = s.terminal.bold(c.name)
	}
	w.AppendRow(header)
	for i := range all[0].cells {
		row := make(pretty.Row, len(all))
		for j, c := range all {
			row[j] = s.terminal.paint(c.cells[i])
		}
		w.AppendRow(row)
	}
	_, err := io.WriteString(s.out, w.Render()+"\n")
	return err
}

// terminal describes the terminal of standard output.
type terminal struct {
	// columns is its width; 0 means no limit, as for a file or a pipe.
	columns int
	colours bool
}

// terminalOf describes an output. COLUMNS sets its width; NO_COLOR (no-color.org) and TERM=dumb turn colours off.
func terminalOf(out io.Writer, env func(string) (string, bool)) terminal {
	var t terminal
	set := func(name string) string { value, _ := env(name); return value }
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // A descriptor is an int.
			t.columns = columns
			// Old consoles of Windows print the codes of colours as text.
			t.colours = set("NO_COLOR") == "" && set("TERM") != "dumb" && (runtime.GOOS != "windows" || set("WT_SESSION") != "")
		}
	}
	if columns, err := strconv.Atoi(strings.TrimSpace(set("COLUMNS"))); err == nil && columns > 0 {
		t.columns = columns
	}
	return t
}

// Colours of words that are a status (ECMA-48, SGR).
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

var colours = map[string]string{
	"open": green, "active": green, "ACTIVE": green, "PAID": green, "PUBLISHED": green, "enabled": green, "succeeded": green,
	"suspended": yellow, "pending": yellow, "PENDING": yellow, "DRAFT": yellow, "EXPIRED": yellow, "EXHAUSTED": yellow,
	"expired": yellow,
	"closed":  red, "revoked": red, "FAILED": red, "failed": red, "DISABLED": red, "disabled": red,
}

// paint colours a word that is a status.
func (t terminal) paint(word string) string {
	if colour := colours[word]; t.colours && colour != "" {
		return colour + word + plain
	}
	return word
}

// bold emphasizes a text.
func (t terminal) bold(text string) string {
	if !t.colours {
		return text
	}
	return bold + text + plain
}

// progress shows the progress of long work on a terminal, and nothing elsewhere.
type progress struct {
	w    io.Writer // nil shows nothing
	what string
	size int64 // bytes of the file; below 1 if unknown
}

func newProgress(w io.Writer, what string, size int64) progress {
	if !isTerminal(w) {
		w = nil
	}
	return progress{w, what, size}
}

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// barWidth is the length of the bar in columns.
const barWidth = 40

// eraseLine moves the cursor to the line's beginning and erases the line (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

// show redraws the bar.
func (p progress) show(so importfile.Progress) {
	if p.w == nil {
		return
	}
	bar := ""
	if p.size > 0 {
		done := int(min(so.Bytes, p.size) * barWidth / p.size)
		bar = "[" + strings.Repeat("#", done) + strings.Repeat(" ", barWidth-done) + "] "
	}
	stage := "checking"
	if so.Storing {
		stage = "storing"
	}
	p.draw(fmt.Sprintf("%s %s %s%s lines", stage, p.what, bar, grouped(so.Lines)))
}

// draw redraws a line.
func (p progress) draw(text string) {
	if p.w != nil {
		_, _ = io.WriteString(p.w, eraseLine+text)
	}
}

// end erases the bar before other output.
func (p progress) end() {
	if p.w != nil {
		_, _ = io.WriteString(p.w, eraseLine)
	}
}
