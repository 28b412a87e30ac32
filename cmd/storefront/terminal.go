package main

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/term"
)

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
