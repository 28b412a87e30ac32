package main

import (
	"cmp"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// The marks after a column's name in a table's header. On a terminal that is too narrow, ids and times are shortened
// first, then columns are left out, the rightmost first, until the others have the room that their texts need, and last
// texts are cut. Others are always whole.
const (
	markID        = "#"
	markTime      = "@"
	markLeftOut   = "?"
	markShortened = "~" // and before which width columns are left out rather than the text cut, such as ~40
)

const (
	columnGap = "  "
	// minCut is how short a text that is cut becomes at least.
	minCut = 12
	// shortID is how much of the end of an id is shown: its random part, where the beginning is the time. Commands take it.
	shortID = 8
)

// column is a column of a table: its name, its marks, and its cells.
type column struct {
	name, marks string
	cells       []string
	width, room int
}

func (c *column) measure() {
	c.width = text.StringWidthWithoutEscSequences(c.name)
	for _, cell := range c.cells {
		c.width = max(c.width, text.StringWidthWithoutEscSequences(cell))
	}
}

func (c *column) is(mark string) bool { return strings.Contains(c.marks, mark) }

// atLeast is how narrow the column can be for a text of which so much is to be seen.
func (c *column) atLeast(room int) int {
	if c.is(markShortened) {
		return min(c.width, max(room, len(c.name)))
	}
	return c.width
}

var headerForm = regexp.MustCompile(`^([A-Z ]+)(\W*)(\d*)(\W*)$`)

// columnsOf are the columns of a table. Its header names them with their marks.
func columnsOf(header []string, rows [][]string) []*column {
	all := make([]*column, len(header))
	for i, name := range header {
		parts := headerForm.FindStringSubmatch(name)
		room, _ := strconv.Atoi(cmp.Or(parts[3], strconv.Itoa(minCut))) // It is a number.
		c := &column{name: parts[1], marks: parts[2] + parts[4], room: room}
		for _, row := range rows {
			c.cells = append(c.cells, row[i])
		}
		c.measure()
		all[i] = c
	}
	return all
}

// fit makes columns fit a terminal that is so wide; 0 is no bound.
func fit(all []*column, terminal int) []*column {
	whole := func(c *column) int { return c.width }
	if terminal == 0 || widthOf(all, whole) <= terminal {
		return all
	}
	for _, c := range all {
		for i, cell := range c.cells {
			switch {
			case c.is(markID):
				c.cells[i] = cell[max(0, len(cell)-shortID):]
			case c.is(markTime):
				c.cells[i] = shortTime(cell)
			}
		}
		c.measure()
	}
	roomy := func(c *column) int { return c.atLeast(c.room) }
	for i := len(all) - 1; i >= 0 && widthOf(all, roomy) > terminal; i-- {
		if all[i].is(markLeftOut) {
			all = slices.Delete(all, i, i+1)
		}
	}
	for _, least := range []func(*column) int{roomy, func(c *column) int { return c.atLeast(minCut) }} {
		for widthOf(all, whole) > terminal {
			widest := slices.MaxFunc(all, func(a, b *column) int { return cmp.Compare(a.width-least(a), b.width-least(b)) })
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
func widthOf(all []*column, of func(*column) int) int {
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
func (s *session) writeTable(all []*column) error {
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
