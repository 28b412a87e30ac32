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
	"golang.org/x/term"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/validate"
)

// formatTime returns "-" for nil.
func formatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return absent
	}
	return strings.Trim(string(apijson.AppendTime(nil, t.AsTime())), `"`)
}

// printValue prints JSON with -o json, otherwise a line for each field.
func (s *invocation) printValue(v any) error {
	text, err := plainJSON(v)
	if err != nil {
		return err
	}
	return s.print(text)
}

// print prints the object as it is with -o json, otherwise a line for each member.
func (s *invocation) print(object []byte) error {
	if s.json {
		_, err := s.out.Write(append(object, '\n'))
		return err
	}
	var whose struct{ Currency string } // "" if the object has no currency
	_ = json.Unmarshal(object, &whose)
	// A reader such as grep -q stops at a line, and a later write would fail.
	var lines bytes.Buffer
	w := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	s.writeLines(w, "", object, whose.Currency)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := s.out.Write(lines.Bytes())
	return err
}

// writeLines writes path and value of each text, number or boolean inside a value, such as customer.email. A list of these is
// one line, as is an empty list or object.
func (s *invocation) writeLines(w io.Writer, path string, value json.RawMessage, currency string) {
	var items []json.RawMessage
	members, err := membersOf(value)
	nested := err == nil || json.Unmarshal(value, &items) == nil && items != nil
	var plain []string
	for i, item := range items {
		if item[0] == '{' || item[0] == '[' {
			s.writeLines(w, path+"["+strconv.Itoa(i)+"]", item, currency)
		} else {
			plain = append(plain, formatValue(path, item, currency))
		}
	}
	for _, m := range members {
		s.writeLines(w, strings.TrimPrefix(path+"."+m.name, "."), m.value, currency)
	}
	switch {
	case !nested:
		plain = []string{formatValue(path, value, currency)}
	case len(items)+len(members) == 0:
		plain = []string{absent}
	}
	if len(plain) > 0 {
		_, _ = fmt.Fprintf(w, "%s:\t%s\n", path, s.terminal.paint(strings.Join(plain, ", ")))
	}
}

// formatValue reads a value at amount or totalPaid as minor units of currency. Other whole numbers get thousands separators.
func formatValue(path string, value json.RawMessage, currency string) string {
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

// textOf returns "-" for null and "".
func textOf(value json.RawMessage) string { return cmp.Or(csvText(value), absent) }

// printObjects prints CSV or a JSON array. The members of sample are the CSV's columns.
func (s *invocation) printObjects(sample []byte, objects [][]byte) error {
	if s.csv {
		t, err := newCSV(s.out, sample)
		if err != nil {
			return err
		}
		return t.add(objects)
	}
	_, err := fmt.Fprintf(s.out, "[%s]\n", bytes.Join(objects, []byte{','}))
	return err
}

// printTable fits the table to the terminal's width.
func (s *invocation) printTable(header []string, rows [][]string) error {
	return s.writeTable(fit(plainColumns(header, rows), s.terminal.columns))
}

func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func indented(text []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return visible(string(text))
	}
	var out strings.Builder
	for _, r := range b.String() {
		if unicode.IsPrint(r) || r == '\n' {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, "\\u%04x", unit)
		}
	}
	return out.String()
}

const absent = "-"

// visible quotes a text with characters that a terminal would not show. Texts come from clients, who could otherwise send codes
// that control it.
func visible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
		return strconv.Quote(text)
	}
	return text
}

// escaped escapes such characters, which files and servers that errors quote may contain.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return out.String()
}

const (
	columnGap = "  "
	// minCut is the least number of characters to which fit cuts a text by default.
	minCut = 12
	// shortID is how many of an id's last characters a narrow terminal shows. Commands accept these; they are random, while the
	// first are a time.
	shortID = 8
)

// shownColumn is a column of a printed table. On a narrow terminal fit first shortens ids and times, then leaves out optional
// columns, the rightmost first, and last cuts texts where cut is true, to room characters at least. width is in characters.
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

// minWidth keeps room characters of a text visible. A column whose texts may not be cut keeps its width.
func (c *shownColumn) minWidth(room int) int {
	if c.cut {
		return min(c.width, max(room, len(c.name)))
	}
	return c.width
}

// plainColumns are never shortened, cut or left out.
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

// fit returns the columns that a terminal of this width can show. 0 means no limit.
func fit(all []*shownColumn, terminal int) []*shownColumn {
	fullWidth := func(c *shownColumn) int { return c.width }
	if terminal == 0 || widthOf(all, fullWidth) <= terminal {
		return all
	}
	for _, c := range all {
		if c.isTime {
			c.name += " UTC" // shortTime leaves out the Z
		}
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
	roomy := func(c *shownColumn) int { return c.minWidth(c.room) }
	for i := len(all) - 1; i >= 0 && widthOf(all, roomy) > terminal; i-- {
		if all[i].optional {
			all = slices.Delete(all, i, i+1)
		}
	}
	for _, minWidth := range []func(*shownColumn) int{roomy, func(c *shownColumn) int { return c.minWidth(minCut) }} {
		for widthOf(all, fullWidth) > terminal {
			widest := slices.MaxFunc(all, func(a, b *shownColumn) int { return cmp.Compare(a.width-minWidth(a), b.width-minWidth(b)) })
			if widest.width == minWidth(widest) {
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

func widthOf(all []*shownColumn, width func(*shownColumn) int) int {
	sum := len(columnGap) * (len(all) - 1)
	for _, c := range all {
		sum += width(c)
	}
	return sum
}

var timeForm = regexp.MustCompile(`(\d{4})-(\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z`)

// shortTime leaves out the seconds, and the year if it is the current one.
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

// writeTable leaves no spaces at the ends of lines.
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

type terminal struct {
	// columns is 0 without a limit, as for a file or a pipe.
	columns int
	colours bool
}

// terminalOf reads COLUMNS for the width. NO_COLOR (no-color.org) and TERM=dumb turn colours off.
func terminalOf(out io.Writer, env func(string) (string, bool)) terminal {
	var t terminal
	set := func(name string) string { value, _ := env(name); return value }
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil { //nolint:gosec // An int can hold every descriptor.
			t.columns = columns
			// Old consoles of Windows print the codes for colours as text; new ones set WT_SESSION.
			t.colours = set("NO_COLOR") == "" && set("TERM") != "dumb" && (runtime.GOOS != "windows" || set("WT_SESSION") != "")
		}
	}
	if columns, err := strconv.Atoi(strings.TrimSpace(set("COLUMNS"))); err == nil && columns > 0 {
		t.columns = columns
	}
	return t
}

// Codes for the colours and the weight of text (ECMA-48, SGR).
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

// paint colours the names of statuses only.
func (t terminal) paint(word string) string {
	if colour := colours[word]; t.colours && colour != "" {
		return colour + word + plain
	}
	return word
}

func (t terminal) bold(text string) string {
	if !t.colours {
		return text
	}
	return bold + text + plain
}

type progress struct {
	w     io.Writer // nil if the output is no terminal
	label string
	size  int64 // of the file that is read, in bytes; below 1 if unknown
}

func newProgress(w io.Writer, label string, size int64) progress {
	if !isTerminal(w) {
		w = nil
	}
	return progress{w, label, size}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

const barWidth = 40

// eraseLine erases the cursor's line (ECMA-48, EL).
const eraseLine = "\r\x1b[K"

func (p progress) show(current importfile.Progress) {
	if p.w == nil {
		return
	}
	bar := ""
	if p.size > 0 {
		done := int(min(current.Bytes, p.size) * barWidth / p.size)
		bar = "[" + strings.Repeat("#", done) + strings.Repeat(" ", barWidth-done) + "] "
	}
	stage := "checking"
	if current.Storing {
		stage = "storing"
	}
	p.draw(fmt.Sprintf("%s %s %s%s lines", stage, p.label, bar, grouped(current.Lines)))
}

func (p progress) draw(text string) {
	if p.w != nil {
		_, _ = io.WriteString(p.w, eraseLine+text)
	}
}

// end erases the line, so that other output can follow.
func (p progress) end() {
	if p.w != nil {
		_, _ = io.WriteString(p.w, eraseLine)
	}
}
