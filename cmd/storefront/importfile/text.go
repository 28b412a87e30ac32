package importfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// FileError means that nothing in a file can be imported; it says what to do.
type FileError struct{ Problem string }

func (e *FileError) Error() string { return e.Problem }

// LineError is an error in one line of the imported file.
type LineError struct {
	// Line counts from 1, also for the objects of a JSON array.
	Line int
	// Column is the column, or the field of a JSON object; empty for the whole line.
	Column string
	// Problem is such as "must be an amount"; Value is the wrong value.
	Problem, Value string
	// Related names the other row or the customer that the row conflicts with, such as "line 2", or "".
	Related string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s %s", e.Line, e.Column, e.Problem)
}

// seekable copies an input that can be read only once to a temporary file, which remove deletes. It ends with the context.
func seekable(ctx context.Context, in io.Reader) (file io.ReadSeeker, remove func(), err error) {
	if s, ok := in.(io.ReadSeeker); ok {
		if _, err := s.Seek(0, io.SeekStart); err == nil {
			return s, func() {}, nil
		}
	}
	spool, remove, err := newSpool()
	if err != nil {
		return nil, nil, fmt.Errorf("keep the input: %w", err)
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(spool, in)
		copied <- err
	}()
	select {
	case err = <-copied:
		if err != nil {
			err = fmt.Errorf("read the input: %w", err)
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return spool, remove, nil
}

const spoolPattern = "storefront-import-*"

// newSpool creates a temporary file that remove deletes. On Unix it has no name, so it is gone even if this process is killed.
// On Windows newSpool first deletes those of killed imports.
func newSpool() (spool *os.File, remove func(), err error) {
	leftovers, _ := filepath.Glob(filepath.Join(os.TempDir(), spoolPattern))
	for _, path := range leftovers {
		_ = os.Remove(path)
	}
	spool, err = os.CreateTemp("", spoolPattern)
	if err != nil {
		return nil, nil, err
	}
	nameless := os.Remove(spool.Name()) == nil
	return spool, func() {
		_ = spool.Close()
		if !nameless {
			_ = os.Remove(spool.Name())
		}
	}, nil
}

const headBytes = 32 << 10

// binaryFormats has the first bytes of files that are not text, and what to tell the person.
var binaryFormats = []struct{ mark, problem string }{
	{"PK\x03\x04", "is an Excel workbook (or another ZIP file): save the sheet as CSV (in Excel: Save As, CSV UTF-8), and " +
		"import that"},
	{"\xd0\xcf\x11\xe0", "is an old Excel workbook: save the sheet as CSV (in Excel: Save As, CSV UTF-8), and import that"},
	{"\x1f\x8b", "is compressed: `gunzip -c FILE | storefront import … -` imports what it holds"},
	{"%PDF", "is a PDF: import a CSV file, or one with a JSON object a line"},
	{"<", "is HTML or XML, as in some shops' files that end in .xls: open it in a spreadsheet, save it as CSV, and import that"},
}

// checkText judges by the first bytes. In UTF-16, zero bytes may be part of a text.
func checkText(head []byte, utf16 bool) error {
	for _, f := range binaryFormats {
		if bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \r\n\t"), []byte(f.mark)) {
			return &FileError{"the file " + f.problem}
		}
	}
	switch {
	case bytes.IndexByte(head, 0) >= 0 && !utf16:
		if order := utf16Order(head); order != "" {
			return &FileError{"the file is UTF-16 without a byte order mark: import it with --encoding " + order}
		}
		return &FileError{"the file is no text: import a CSV file, or one with a JSON object a line"}
	case len(head) < headBytes && len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))) == 0:
		return &FileError{"the file is empty: there is nothing to import"}
	}
	return nil
}

// utf16Order recognizes UTF-16 without a byte order mark by the zero bytes between ASCII letters: "utf-16le", "utf-16be" or "".
func utf16Order(head []byte) string {
	const letters = 8
	var zeros [2]int
	for i := range min(2*letters, len(head)) {
		if head[i] == 0 {
			zeros[i%2]++
		}
	}
	switch half := min(2*letters, len(head)) / 2; {
	case half > 1 && zeros == [2]int{0, half}:
		return "utf-16le"
	case half > 1 && zeros == [2]int{half, 0}:
		return "utf-16be"
	}
	return ""
}

// maxLineBytes limits a line or a record of a CSV file, as a request to the API.
const maxLineBytes = 1 << 20

type lines struct {
	*bufio.Scanner
	number int
	// csv reads lines from Read. Those of an invalid record but the first are read again, so that a stray quote does not
	// swallow them.
	csv         *csv.Reader
	separator   rune
	encoding    textEncoding
	recordLines []string
	reread      []string // lines of an invalid record that are to be read again
	unread      string   // the rest of the current line, which csv has not read yet
	size        int
	ended       bool // true if the record reached the end of the file or exceeded maxLineBytes
	tooLong     bool // true once end has returned the error for a line that is too long
}

func newLines(text io.Reader, e textEncoding) *lines {
	l := &lines{Scanner: bufio.NewScanner(text), encoding: e}
	l.Buffer(nil, maxLineBytes)
	l.Split(anyLine)
	return l
}

// anyLine is a bufio.SplitFunc for lines that end with \n, \r\n or \r.
func anyLine(data []byte, atEOF bool) (advance int, line []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0 || data[i] == '\r' && i+1 == len(data) && !atEOF:
		return 0, nil, nil
	case bytes.HasPrefix(data[i:], []byte("\r\n")):
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}

// next returns the next line that is not blank. The bytes are valid until the next call.
func (l *lines) next() ([]byte, int, error) {
	for l.Scan() {
		l.number++
		switch {
		case l.encoding.unreadable(l.Text()):
			return l.Bytes(), l.number, &LineError{Line: l.number, Problem: l.encoding.problem(), Value: l.Text()}
		case len(bytes.TrimSpace(l.Bytes())) > 0:
			return l.Bytes(), l.number, nil
		}
	}
	return nil, 0, l.end()
}

// end returns the error that ended the lines, or io.EOF; that of a line that is too long only once.
func (l *lines) end() error {
	switch err := l.Err(); {
	case errors.Is(err, bufio.ErrTooLong) && !l.tooLong:
		l.tooLong = true
		return &LineError{Line: l.number + 1, Problem: "is longer than 1 MiB; what follows it was not read"}
	case err != nil && !l.tooLong:
		return fmt.Errorf("read line %d: %w", l.number+1, err)
	}
	return io.EOF
}

func (l *lines) Read(p []byte) (int, error) {
	for l.unread == "" {
		var text string
		switch {
		case l.size > maxLineBytes:
			l.ended = true
			return 0, io.EOF
		case len(l.reread) > 0:
			text, l.reread = l.reread[0], l.reread[1:]
		case l.Scan():
			text = strings.TrimPrefix(l.Text(), "\ufeff") // a byte order mark inside a file that was made of several files
		default:
			l.ended = true
			return 0, l.end()
		}
		l.number++
		if text == "" && len(l.recordLines) == 0 {
			continue // csv.Reader skips an empty line before a record
		}
		l.recordLines = append(l.recordLines, text)
		l.size += len(text)
		l.unread = text + "\n"
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// record returns the values and the first line's number. Of invalid CSV it returns only the first line, with quotes inside
// values as letters, and an error if a value begins with a quote.
func (l *lines) record() (values []string, at int, err error) {
	l.recordLines, l.size, l.ended = nil, 0, false
	values, err = l.csv.Read()
	at = l.number - len(l.recordLines) + 1
	if _, malformed := errors.AsType[*csv.ParseError](err); !malformed {
		if i := slices.IndexFunc(values, l.encoding.unreadable); i >= 0 && err == nil {
			err = &LineError{Line: at, Problem: l.encoding.problem(), Value: values[i]}
		}
		return values, at, err
	}
	l.number = at
	line := l.recordLines[0]
	l.reread = append(l.recordLines[1:], l.reread...)
	values = strings.Split(line, string(l.separator))
	if i := slices.IndexFunc(values, l.encoding.unreadable); i >= 0 {
		return values, at, &LineError{Line: at, Problem: l.encoding.problem(), Value: values[i]}
	}
	if !slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, `"`) }) {
		return values, at, nil // as in 12" vinyl
	}
	for i, value := range values {
		if len(value) > 1 && value[0] == '"' && strings.HasSuffix(value, `"`) {
			values[i] = value[1 : len(value)-1] // so that the line's order is recognized
		}
	}
	problem := `is no CSV: a value with quotes must stand in quotes, its own doubled, such as "12"" vinyl"`
	if l.ended || len(l.recordLines) > 1 {
		problem = "is no CSV: it opens a quote that is not closed"
	}
	return values, at, &LineError{Line: at, Problem: problem}
}

// sepLine matches a line that names a file's separator for Excel. Other programs may add quotes and empty cells.
var sepLine = regexp.MustCompile(`(?i)^"?sep=([^"\r\n])"?[,;\t|]*(?:\r\n?|\n)`)

// separatorIn returns that of a first line such as sep=;, whose length is mark, or else the header's.
func separatorIn(head []byte) (separator rune, mark int) {
	if named := sepLine.FindSubmatch(head); named != nil {
		separator, _ = utf8.DecodeRune(named[1])
		return separator, len(named[0])
	}
	for line := range bytes.Lines(head) {
		if !isBlank(string(line)) {
			break
		}
		head = head[len(line):]
	}
	return separatorOf(head), 0
}

func isBlank(line string) bool { return strings.Trim(strings.TrimSpace(line), separators+"\" ") == "" }

const separators = ",;\t|"

// separatorOf returns the most frequent separator outside of quotes.
func separatorOf(head []byte) rune {
	counts, quoted := make([]int, len(separators)), false
	for _, c := range bytes.TrimSpace(head) {
		if c == '"' {
			quoted = !quoted
		} else if !quoted && (c == '\n' || c == '\r') {
			break
		}
		if at := strings.IndexByte(separators, c); at >= 0 && !quoted {
			counts[at]++
		}
	}
	return rune(separators[slices.Index(counts, slices.Max(counts))])
}
