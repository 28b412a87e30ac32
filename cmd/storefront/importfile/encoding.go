package importfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// textEncoding is UTF-8 if it is zero.
type textEncoding struct {
	name    string
	decoder encoding.Encoding
	// assumed is true if the file is taken for Windows-1252 only because it is not UTF-8.
	assumed bool
	// overridden is the name in --encoding that the file's byte order mark contradicts.
	overridden string
}

// encodingOf takes a name of the WHATWG Encoding Standard or IANA's registry, such as cp437. "" means the zero value.
func encodingOf(name string) (textEncoding, error) {
	if name == "" {
		return textEncoding{}, nil
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		found, _ = ianaindex.IANA.Encoding(strings.TrimSpace(name)) // IANA's registry has the code pages of DOS
	}
	known, _ := htmlindex.Name(found)
	if found == nil || found == encoding.Replacement || found == charmap.XUserDefined {
		return textEncoding{}, fmt.Errorf("%w: --encoding %s: must be the name of an encoding, such as windows-1250, windows-1251, "+
			"gbk, big5, shift_jis, euc-kr or macintosh (https://encoding.spec.whatwg.org)", ErrOptions, name)
	}
	if known == "utf-8" {
		return textEncoding{name: known}, nil
	}
	if known == "" {
		known = strings.ToLower(strings.TrimSpace(name))
	}
	return textEncoding{name: known, decoder: found}, nil
}

var byteOrderMarks = []struct {
	mark     string
	encoding textEncoding
}{
	{"\xef\xbb\xbf", textEncoding{name: "utf-8"}},
	{"\xff\xfe", textEncoding{name: "utf-16le", decoder: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}},
	{"\xfe\xff", textEncoding{name: "utf-16be", decoder: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}},
}

// recognize follows the byte order mark, --encoding, UTF-8, or else Windows-1252, which spreadsheets write in Western Europe.
// It refuses an empty file and one that is no text. Without mark and name it reads the whole file, and refuses UTF-8 mixed with
// bytes that Windows-1252 does not define, because letters would silently be wrong.
func recognize(file io.ReadSeeker, named textEncoding) (textEncoding, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return named, fmt.Errorf("read the file: %w", err)
	}
	text := bufio.NewReaderSize(file, headBytes)
	head, err := text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return named, fmt.Errorf("read the file: %w", err)
	}
	for _, m := range byteOrderMarks {
		if strings.HasPrefix(string(head), m.mark) {
			found := m.encoding
			if named.name != "" && named.name != found.name {
				found.overridden = named.name
			}
			return found, checkText(head, true)
		}
	}
	if err := checkText(head, strings.HasPrefix(named.name, "utf-16")); err != nil || named.name != "" {
		return named, err
	}
	bytes, err := scanBytes(text)
	switch {
	case err != nil:
		return named, fmt.Errorf("read the file: %w", err)
	case bytes.other == 0:
		return textEncoding{}, nil
	case bytes.unicode > 0:
		return named, &FileError{fmt.Sprintf("the file is UTF-8 in some lines, such as line %d, and something else in others, such "+
			"as line %d: name its encoding with --encoding; lines that have another one are then refused", bytes.unicode, bytes.other)}
	case bytes.undefinedLine > 0:
		return named, &FileError{fmt.Sprintf("the file is neither UTF-8 nor Windows-1252, which has no letter for the byte %#02x of line "+
			"%d: name its encoding with --encoding, such as windows-1250, windows-1251, shift_jis, gbk or macintosh", bytes.undefined,
			bytes.undefinedLine)}
	}
	return textEncoding{name: "windows-1252", decoder: charmap.Windows1252, assumed: true}, nil
}

// scannedBytes has numbers of lines, 0 for none: the first with UTF-8 beyond ASCII, the first that is not UTF-8, and the first
// with a byte that Windows-1252 does not define.
type scannedBytes struct {
	unicode, other, undefinedLine int
	undefined                     byte
}

const undefinedBytes = "\x81\x8d\x8f\x90\x9d"

func scanBytes(text *bufio.Reader) (found scannedBytes, err error) {
	isUnicode, isOther, last := false, false, rune(0)
	line := 1
	end := func() {
		if isOther && found.other == 0 {
			found.other = line
		}
		if isUnicode && !isOther && found.unicode == 0 {
			found.unicode = line
		}
		isUnicode, isOther = false, false
	}
	for {
		r, size, err := text.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			end()
			return found, nil
		case err != nil:
			return found, err
		case r == utf8.RuneError && size == 1:
			_ = text.UnreadRune() // neither this call nor the next can fail after ReadRune
			b, _ := text.ReadByte()
			isOther = true
			if strings.IndexByte(undefinedBytes, b) >= 0 && found.undefinedLine == 0 {
				found.undefined, found.undefinedLine = b, line
			}
		case r >= utf8.RuneSelf:
			isUnicode = true
		case r == '\r' || r == '\n' && last != '\r':
			end()
			line++
		}
		last = r
	}
}

// reader returns UTF-8 without a byte order mark.
func (e textEncoding) reader(in io.Reader) *bufio.Reader {
	const buffer = 64 << 10
	if e.decoder != nil {
		in = transform.NewReader(in, e.decoder.NewDecoder())
	}
	text := bufio.NewReaderSize(in, buffer)
	if mark, _ := text.Peek(len("\ufeff")); string(mark) == "\ufeff" {
		_, _ = text.Discard(len(mark))
	}
	return text
}

// unreadable reports whether a line has bytes that are invalid in the encoding. A decoder has replaced them by U+FFFD; UTF-8
// still has them.
func (e textEncoding) unreadable(line string) bool {
	if e.decoder == nil {
		return !utf8.ValidString(line)
	}
	return strings.ContainsRune(line, utf8.RuneError)
}

func (e textEncoding) problem() string {
	if e.name == "" {
		return "has bytes that are not UTF-8"
	}
	return "has bytes that are no letters in " + e.name
}

// letterSamples collects values beyond ASCII, from which a person sees whether the encoding is right.
type letterSamples struct {
	// The first values beyond ASCII: read of columns that are imported, others of the rest and of names.
	read, others []string
	// readLines is empty, or one remark with the numbers of all such lines in imported columns; otherLines of the rest.
	readLines, otherLines []*Remark
}

const maxSamples = 2

// add takes a line's values. isRead is true for imported columns; it is nil for the header.
func (s *letterSamples) add(number int, values []string, isRead func(column int) bool) {
	if s == nil {
		return
	}
	var read, other bool
	for i, value := range values {
		if strings.IndexFunc(value, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
			continue
		}
		samples := &s.others
		if isRead != nil && isRead(i) {
			samples, read = &s.read, true
		} else {
			other = true
		}
		if value = aroundLetters(strings.TrimSpace(value)); len(*samples) < maxSamples && !slices.Contains(*samples, value) {
			*samples = append(*samples, value)
		}
	}
	if read {
		s.readLines = addRemark(s.readLines, LineError{Line: number})
	}
	if other {
		s.otherLines = addRemark(s.otherLines, LineError{Line: number})
	}
}

func aroundLetters(value string) string {
	const before = 20
	if start := strings.IndexFunc(value, func(r rune) bool { return r >= utf8.RuneSelf }); start > maxValueRunes/2 {
		value = "…" + value[start-before:] // the bytes before the first letter beyond ASCII are one letter each
	}
	if letters := []rune(value); len(letters) > maxValueRunes {
		value = string(letters[:maxValueRunes]) + "…"
	}
	return value
}

// samples returns nil for UTF-8 and UTF-16, whose letters a person need not check.
func (e textEncoding) samples() *letterSamples {
	if e.decoder == nil || strings.HasPrefix(e.name, "utf-16") {
		return nil
	}
	return &letterSamples{}
}

// remarks says that the byte order mark contradicts --encoding, and shows the values of s.
func (e textEncoding) remarks(s *letterSamples) (all []*Remark) {
	if e.overridden != "" {
		all = append(all, &Remark{Problem: fmt.Sprintf("the file is read as %s, as its byte order mark says, and not as %s", e.name,
			e.overridden)})
	}
	if s == nil || len(s.readLines)+len(s.otherLines) == 0 {
		return all
	}
	r := append(s.readLines, s.otherLines...)[0]
	r.Values = append(s.read, s.others...)[:min(maxSamples, len(s.read)+len(s.others))]
	r.Problem = "the file is read as " + e.name + ", as --encoding says"
	if e.assumed {
		r.Problem = "the file is not UTF-8 and is read as Windows-1252; if these letters are wrong, name its encoding with --encoding"
	}
	return append(all, r)
}
