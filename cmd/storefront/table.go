package main

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// The marks after a column's name in a table's header: on a terminal that is too narrow, a column is
// left out, the rightmost first, or its texts are shortened. Others, such as ids, are always whole.
const (
	markLeftOut   = "?"
	markShortened = "~"
)

const (
	// columnGap is the space between columns.
	columnGap = 2
	// minShortened is how short a shortened column becomes before another one is left out.
	minShortened = 16
)

// column is a column of a table that is being fitted.
type column struct {
	at                 int // in the rows
	name               string
	width              int
	leftOut, shortened bool
}

// fit chooses the columns of a table for a terminal of so many columns; 0 is no bound.
func fit(header []string, rows [][]string, columns int) []column {
	all := make([]column, len(header))
	for i, name := range header {
		c := column{at: i}
		name, c.leftOut = cutMark(name, markLeftOut)
		c.name, c.shortened = cutMark(name, markShortened)
		c.width = columnsOf(c.name)
		for _, row := range rows {
			c.width = max(c.width, columnsOf(row[i]))
		}
		all[i] = c
	}
	if columns == 0 {
		return all
	}
	for i := len(all) - 1; i >= 0 && total(all, true) > columns; i-- {
		if all[i].leftOut {
			all = append(all[:i], all[i+1:]...)
		}
	}
	for excess := total(all, false) - columns; excess > 0; excess-- {
		widest := -1
		for i, c := range all {
			if c.shortened && c.width > c.least() && (widest < 0 || c.width > all[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		all[widest].width--
	}
	return all
}

func cutMark(name, mark string) (string, bool) {
	before, found := strings.CutSuffix(name, mark)
	return before, found
}

// least is how narrow the column can be.
func (c column) least() int {
	if c.shortened {
		return min(c.width, max(minShortened, columnsOf(c.name)))
	}
	return c.width
}

// total is the width of a line with these columns, each as it is or as narrow as it can be.
func total(all []column, narrow bool) int {
	sum := columnGap * (len(all) - 1)
	for _, c := range all {
		if narrow {
			sum += c.least()
		} else {
			sum += c.width
		}
	}
	return sum
}

// writeTable writes a table of the chosen columns. The last one is not padded.
func (s *session) writeTable(columns []column, rows [][]string) error {
	var b strings.Builder
	line := func(paint func(string) string, cell func(column) string) {
		for i, c := range columns {
			text := shorten(cell(c), c.width)
			b.WriteString(paint(text))
			if i < len(columns)-1 {
				b.WriteString(strings.Repeat(" ", c.width-columnsOf(text)+columnGap))
			}
		}
		b.WriteByte('\n')
	}
	line(s.terminal.bold, func(c column) string { return c.name })
	for _, row := range rows {
		line(s.terminal.paint, func(c column) string { return row[c.at] })
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// shorten cuts a text to so many columns.
func shorten(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	used := 0
	for i, r := range text {
		if used += columnsOfRune(r); used >= columns {
			return text[:i] + "…"
		}
	}
	return text
}

// columnsOf is how many columns of a terminal a text takes (Unicode Standard Annex 11).
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOfRune(r)
	}
	return n
}

func columnsOfRune(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}
