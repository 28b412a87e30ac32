package main

import (
	"io"
	"regexp"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// The marks after a column's name in a table's header. On a terminal that is too narrow, ids and times are shortened
// first, then columns are left out, the rightmost first, then texts are cut. Others are always whole.
const (
	markID        = "#"
	markTime      = "@"
	markLeftOut   = "?"
	markShortened = "~"
)

const (
	columnGap = "  "
	// minCut is how short a text that is cut becomes at least.
	minCut = 12
	// minShortID is how much of an id is shown at least: its time, to the millisecond.
	minShortID = 13
)

// column is a column of a table: its name, its marks, and its cells.
type column struct {
	name, marks string
	cells       []string
	width       int
}

func (c *column) measure() {
	c.width = text.StringWidthWithoutEscSequences(c.name)
	for _, cell := range c.cells {
		c.width = max(c.width, text.StringWidthWithoutEscSequences(cell))
	}
}

func (c *column) is(mark string) bool { return strings.Contains(c.marks, mark) }

// least is how narrow the column can be.
func (c *column) least() int {
	if c.is(markShortened) {
		return min(c.width, max(minCut, len(c.name)))
	}
	return c.width
}

// columnsOf are the columns of a table. Its header names them with their marks.
func columnsOf(header []string, rows [][]string) []*column {
	all := make([]*column, len(header))
	for i, name := range header {
		bare := strings.TrimRight(name, markID+markTime+markLeftOut+markShortened)
		c := &column{name: bare, marks: name[len(bare):]}
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
	if terminal == 0 || widthOf(all, false) <= terminal {
		return all
	}
	for _, c := range all {
		switch {
		case c.is(markID):
			c.cells = shortIDs(c.cells)
		case c.is(markTime):
			for i, cell := range c.cells {
				c.cells[i] = shortTime(cell)
			}
		}
		c.measure()
	}
	for i := len(all) - 1; i >= 0 && widthOf(all, true) > terminal; i-- {
		if all[i].is(markLeftOut) {
			all = slices.Delete(all, i, i+1)
		}
	}
	for excess := widthOf(all, false) - terminal; excess > 0; excess-- {
		var widest *column
		for _, c := range all {
			if c.width > c.least() && (widest == nil || c.width > widest.width) {
				widest = c
			}
		}
		if widest == nil {
			break
		}
		widest.width--
	}
	for _, c := range all {
		for i, cell := range c.cells {
			c.cells[i] = text.Snip(cell, c.width, "…")
		}
	}
	return all
}

// widthOf is the width of a line with these columns, each as it is or as narrow as it can be.
func widthOf(all []*column, narrow bool) int {
	sum := len(columnGap) * (len(all) - 1)
	for _, c := range all {
		if narrow {
			sum += c.least()
		} else {
			sum += c.width
		}
	}
	return sum
}

// shortIDs shortens ids to beginnings that tell them apart; commands take them.
func shortIDs(ids []string) []string {
	for length := minShortID; ; length++ {
		seen, short := map[string]string{}, make([]string, len(ids))
		clash := false
		for i, id := range ids {
			short[i] = strings.TrimSuffix(id[:min(length, len(id))], "-")
			if whole, taken := seen[short[i]]; taken && whole != id {
				clash = true
			}
			seen[short[i]] = id
		}
		if !clash {
			return short
		}
	}
}

var timeForm = regexp.MustCompile(`(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z`)

// shortTime leaves the seconds of date-times out, which are UTC.
func shortTime(cell string) string { return timeForm.ReplaceAllString(cell, "$1 $2") }

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
