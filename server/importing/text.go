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
	last           bool // nothing can be read behind it
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

// counted counts the bytes that are read of a file.
type counted struct {
	io.Reader
	bytes int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += int64(n)
	return n, err
}

// maxLineBytes bounds a line, or a record of a CSV file, as a body of the API is bounded.
const maxLineBytes = 1 << 20

const tooLong = "is longer than 1 MiB"

// lines numbers the lines of a text and passes over blank ones.
type lines struct {
	*bufio.Scanner
	number int
}

func newLines(text io.Reader) *lines {
	l := &lines{Scanner: bufio.NewScanner(text)}
	l.Buffer(nil, maxLineBytes)
	return l
}

// next returns the next line, valid until the next call.
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
	case errors.Is(err, bufio.ErrTooLong):
		return &LineError{Line: l.number + 1, Problem: tooLong, last: true}
	case err != nil:
		return fmt.Errorf("read line %d: %w", l.number+1, err)
	}
	return io.EOF
}

// record returns the next line of a CSV file with those behind it that a quoted value runs over, the values,
// and the first line's number. A record that is no CSV ends there: the next one is read.
func (l *lines) record(separator rune) (text string, values []string, at int, err error) {
	begun, at, err := l.next()
	if err != nil {
		return "", nil, 0, err
	}
	text = string(begun)
	if open := leftOpen(begun, separator, false); open {
		var more strings.Builder
		more.Write(begun)
		for open && l.Scan() {
			l.number++
			if more.Len() > maxLineBytes {
				return "", nil, 0, &LineError{Line: at, Problem: tooLong + "; a quote may not be closed", last: true}
			}
			_ = more.WriteByte('\n')
			more.Write(l.Bytes())
			open = leftOpen(l.Bytes(), separator, true)
		}
		if err := l.end(); open && !errors.Is(err, io.EOF) {
			return "", nil, 0, err
		}
		text = more.String()
	}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.Comma = -1, separator
	values, err = r.Read()
	if malformed, ok := errors.AsType[*csv.ParseError](err); ok {
		return text, nil, at, &LineError{
			Line: at, Problem: fmt.Sprintf("is no CSV: %v in character %d of line %d", malformed.Err, malformed.Column,
				at+malformed.Line-1),
		}
	}
	return text, values, at, err
}

// leftOpen reports whether a line of a CSV file ends within quotes; open is whether it begins there.
func leftOpen(line []byte, separator rune, open bool) bool {
	begins := true // of a value
	for i := 0; i < len(line); i++ {
		quote := line[i] == '"'
		switch {
		case open && quote && i+1 < len(line) && line[i+1] == '"':
			i++
		case open && quote:
			open = false
		case quote && begins:
			open = true
		}
		begins = !open && rune(line[i]) == separator
	}
	return open
}

// formOf returns the separator of a header, the one of , ; and tab that it has most of, and what ends it, \n
// or \r; what stands in quotes is neither.
func formOf(head []byte) (separator, ending rune) {
	const separators = ",;\t"
	counts, quoted, ending := make([]int, len(separators)), false, '\n'
header:
	for i, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n', c == '\r':
			if c == '\r' && !bytes.HasPrefix(head[i+1:], []byte("\n")) && i+1 < headBytes {
				ending = '\r'
			}
			break header
		default:
			if at := strings.IndexByte(separators, c); at >= 0 {
				counts[at]++
			}
		}
	}
	return rune(separators[slices.Index(counts, slices.Max(counts))]), ending
}

// crAsLF reads the lines of a file of which each ends with a carriage return.
type crAsLF struct{ io.Reader }

func (r crAsLF) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// objectsOf returns what reads the objects of JSON lines, or of one array, which are numbered from 1.
func objectsOf(text *bufio.Reader, array bool) func() ([]byte, int, error) {
	if !array {
		return newLines(text).next
	}
	d, n := json.NewDecoder(text), 0
	_, begun := d.Token()
	return func() ([]byte, int, error) {
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
		if err != nil {
			return nil, 0, &LineError{Line: n, Problem: "is no JSON: " + err.Error(), last: true}
		}
		return object, n, nil
	}
}
