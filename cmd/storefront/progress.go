package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"go.storefront.example/server/importing"
)

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
func (p progress) show(so importing.Progress) {
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
	p.draw(fmt.Sprintf("%s %s %s%d lines", stage, p.what, bar, so.Lines))
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
