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

// when is a moment for a table.
func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return absent
	}
	return strings.Trim(string(apijson.AppendTime(nil, t.AsTime())), `"`)
}

// value prints a value: in JSON, else a line for each field.
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
		_, _ = fmt.Fprintf(w, "%s:\t%s\n", path, s.terminal.paint(strings.Join(plain, ", "))) // It writes to a buffer.
	}
}

// shown is a plain JSON value for a reader: an amount, which its name tells, in the currency, and any other whole number with
// its thousands separated.
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

// textOf is a JSON value for a reader.
func textOf(value json.RawMessage) string { return cmp.Or(csvText(value), absent) }

// objects prints JSON objects: as CSV, with the columns of the one that they are like, or as an array.
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

const (
	columnGap = "  "
	// minCut is how short a text that is cut becomes at least.
	minCut = 12
	// shortID is how much of the end of an id is shown: its random part, where the beginning is the time. Commands take it.
	shortID = 8
)

// shownColumn is a column of a table with its cells. On a terminal that is too narrow, ids and times are shortened first, then
// columns that may be left out are, the rightmost first, until the others have the room that their texts need, and last texts
// are cut that may be. Other columns are always whole.
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

// plainColumns are the columns of rows without ids and times, which are always whole.
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

// fit makes columns fit a terminal that is so wide; 0 is no bound.
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

// widthOf is the width of a line with these columns.
func widthOf(all []*shownColumn, of func(*shownColumn) int) int {
	sum := len(columnGap) * (len(all) - 1)
	for _, c := range all {
		sum += of(c)
	}
	return sum
}

var timeForm = regexp.MustCompile(`(\d{4})-(\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z`)

// shortTime leaves the seconds of a date-time out, which is UTC, and this year.
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

// terminal is what standard output is shown on.
type terminal struct {
	// columns is its width; 0 is no bound, as where output is a file or a pipe.
	columns int
	colours bool
}

// terminalOf describes an output. COLUMNS sets its width; NO_COLOR (no-color.org) and TERM=dumb leave
// colours out.
func terminalOf(out io.Writer, env func(string) (string, bool)) terminal {
	var t terminal
	set := func(name string) string { value, _ := env(name); return value }
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // A descriptor is an int.
			t.columns = columns
			// An old console of Windows shows the codes of colours as text.
			t.colours = set("NO_COLOR") == "" && set("TERM") != "dumb" && (runtime.GOOS != "windows" || set("WT_SESSION") != "")
		}
	}
	if columns, err := strconv.Atoi(strings.TrimSpace(set("COLUMNS"))); err == nil && columns > 0 {
		t.columns = columns
	}
	return t
}

// The colours of words that are a state (ECMA-48, SGR).
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

// paint colours a word that is a state.
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

// progress shows on a terminal how far long work has come, and nothing elsewhere.
type progress struct {
	w    io.Writer // nil: show nothing
	what string
	size int64 // bytes of the whole; below 1 when it is not known
}

func newProgress(w io.Writer, what string, size int64) progress {
	if !isTerminal(w) {
		w = nil
	}
	return progress{w, what, size}
}

// isTerminal reports whether people read what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// barWidth is the length of the bar in columns.
const barWidth = 40

// eraseLine takes the cursor to the line's beginning and erases the line (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

// show draws the bar anew.
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

// draw draws a line anew.
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
