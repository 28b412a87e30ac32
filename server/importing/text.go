package importing

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// FileError is a file of which nothing can be imported, with what to do.
type FileError struct{ Problem string }

func (e *FileError) Error() string { return e.Problem }

// LineError is a line that cannot be imported.
type LineError struct {
	// Line counts from 1, as do the objects of a JSON array.
	Line int
	// Column is the column, or the field of a JSON object; empty for the whole line.
	Column string
	// Problem is why, such as "must be an amount"; Value is what was refused.
	Problem, Value string
	// With is the other row or customer that the problem is about, such as "line 2"; empty if there is none.
	With string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s %s", e.Line, e.Column, e.Problem)
}

// seekable returns the input as a file that can be read twice. What cannot be, such as a pipe, is first copied
// to a file that remove deletes. If ctx ends while the input waits, so does the call.
func seekable(ctx context.Context, in io.Reader) (file io.ReadSeeker, remove func(), err error) {
	if s, is := in.(io.ReadSeeker); is {
		if _, err := s.Seek(0, io.SeekStart); err == nil {
			return s, func() {}, nil
		}
	}
	spool, err := os.CreateTemp("", "storefront-import-*")
	if err != nil {
		return nil, nil, fmt.Errorf("keep the input: %w", err)
	}
	remove = func() { _, _ = spool.Close(), os.Remove(spool.Name()) }
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

// headBytes is how much of a file is looked at before it is read.
const headBytes = 4096

// noText are the first bytes of files that are no text, and what to do with them.
var noText = []struct{ mark, problem string }{
	{"PK\x03\x04", "is an Excel workbook (or another ZIP file): save the sheet as CSV (in Excel: Save As, CSV UTF-8), and " +
		"import that"},
	{"\xd0\xcf\x11\xe0", "is an old Excel workbook: save the sheet as CSV (in Excel: Save As, CSV UTF-8), and import that"},
	{"\x1f\x8b", "is compressed: `gunzip -c FILE | storefront import … -` imports what it holds"},
	{"%PDF", "is a PDF: import a CSV file, or one with a JSON object a line"},
}

// readable refuses by its first bytes a file that is no text or is empty.
func readable(head []byte) error {
	for _, f := range noText {
		if bytes.HasPrefix(head, []byte(f.mark)) {
			return &FileError{"the file " + f.problem}
		}
	}
	utf16 := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
	switch {
	case bytes.IndexByte(head, 0) >= 0 && !utf16:
		return &FileError{"the file is no text: import a CSV file, or one with a JSON object a line"}
	case len(head) < headBytes && len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))) == 0:
		return &FileError{"the file is empty: there is nothing to import"}
	}
	return nil
}

// decoded returns a text as UTF-8, without a byte order mark. A mark of UTF-16 is honoured, and bytes that are
// no UTF-8 are read as Windows-1252, which contains Latin-1: both are what spreadsheets write.
func decoded(in io.Reader) *bufio.Reader {
	return bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(windows1252{})), 64<<10)
}

// windows1252 passes UTF-8 and decodes each byte that is none.
type windows1252 struct{ transform.NopResetter }

// Transform implements transform.Transformer.
func (windows1252) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		r, size := utf8.DecodeRune(src[nSrc:])
		if r == utf8.RuneError && size == 1 {
			if !atEOF && !utf8.FullRune(src[nSrc:]) {
				return nDst, nSrc, transform.ErrShortSrc
			}
			r = charmap.Windows1252.DecodeByte(src[nSrc])
		}
		if nDst+utf8.RuneLen(r) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += size
	}
	return nDst, nSrc, nil
}

// maxLineBytes bounds a line, or a record of a CSV file, as a body of the API is bounded.
const maxLineBytes = 1 << 20

// lines numbers the lines of a text, which end with \n, \r\n or \r.
type lines struct {
	*bufio.Scanner
	number int
	// A csv.Reader reads one line at a time, so that the lines of a record that is no CSV can be read again, each by
	// itself: one quote too many does not take the rows behind it along.
	csv       *csv.Reader
	separator rune
	taken     []string // the lines of the record
	again     []string // lines to be read again
	unread    string   // the rest of the line at hand
	size      int
	ended     bool // the record ran to the end of the file, or past maxLineBytes
	tooLong   bool // a line is, and was reported
}

func newLines(text io.Reader) *lines {
	l := &lines{Scanner: bufio.NewScanner(text)}
	l.Buffer(nil, maxLineBytes)
	l.Split(anyLine)
	return l
}

// anyLine is a bufio.SplitFunc.
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

// next returns the next line that is not blank, valid until the next call.
func (l *lines) next() ([]byte, int, error) {
	for l.Scan() {
		l.number++
		if len(bytes.TrimSpace(l.Bytes())) > 0 {
			return l.Bytes(), l.number, nil
		}
	}
	return nil, 0, l.end()
}

// end is why there is no further line.
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

// Read gives the csv.Reader the next line.
func (l *lines) Read(p []byte) (int, error) {
	for l.unread == "" {
		var text string
		switch {
		case l.size > maxLineBytes:
			l.ended = true
			return 0, io.EOF
		case len(l.again) > 0:
			text, l.again = l.again[0], l.again[1:]
		case l.Scan():
			text = l.Text()
		default:
			l.ended = true
			return 0, l.end()
		}
		l.number++
		if text == "" && len(l.taken) == 0 {
			continue // csv.Reader passes over it
		}
		l.taken = append(l.taken, text)
		l.size += len(text)
		l.unread = text + "\n"
	}
	n := copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// record returns the values of the next line of a CSV file with those behind it that a quoted value runs over, and the
// first line's number. Of a record that is no CSV it returns the first line, whose quotes are then letters, which is no
// error if none of them opens a value.
func (l *lines) record() (values []string, at int, err error) {
	l.taken, l.size, l.ended = nil, 0, false
	values, err = l.csv.Read()
	at = l.number - len(l.taken) + 1
	if _, malformed := errors.AsType[*csv.ParseError](err); !malformed {
		return values, at, err
	}
	l.number = at
	line := l.taken[0]
	l.again = append(l.taken[1:], l.again...)
	values = strings.Split(line, string(l.separator))
	if !slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, `"`) }) {
		return values, at, nil // 12" vinyl
	}
	problem := `is no CSV: a value with quotes must stand in quotes, its own doubled, such as "12"" vinyl"`
	if l.ended || len(l.taken) > 1 {
		problem = "is no CSV: it opens a quote that is not closed"
	}
	return values, at, &LineError{Line: at, Problem: problem}
}

// separatorOf returns the separator of a header: the one of , ; and tab that it has most of outside quotes.
func separatorOf(head []byte) rune {
	const separators = ",;\t"
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

// objectsOf returns what reads the objects of JSON lines, or of one array, which are numbered from 1.
func objectsOf(text *bufio.Reader, array bool) func() ([]byte, int, error) {
	if !array {
		return newLines(text).next
	}
	d, n, broken := json.NewDecoder(text), 0, false
	_, begun := d.Token()
	return func() ([]byte, int, error) {
		if broken {
			return nil, 0, io.EOF
		}
		n++
		var object json.RawMessage
		err := begun
		if err == nil && d.More() {
			err = d.Decode(&object)
		} else if err == nil {
			if _, err = d.Token(); err == nil {
				return nil, 0, io.EOF
			}
		}
		if broken = err != nil; broken {
			return nil, 0, &LineError{Line: n, Problem: "is no JSON: " + err.Error() + "; what follows it was not read"}
		}
		return object, n, nil
	}
}
