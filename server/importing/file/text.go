package file

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxLineBytes bounds a line, or a record of a CSV file, as a body of the API is bounded.
const maxLineBytes = 1 << 20

var errTooLong = errors.New("is longer than 1 MiB")

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

// bounded fails when a record takes more than maxLineBytes: a quote that is never closed would
// otherwise make the rest of the file one record in memory.
type bounded struct {
	io.Reader
	left int
}

// next lets a record begin; what was read ahead belongs to it.
func (b *bounded) next() { b.left = maxLineBytes }

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.Reader.Read(p)
	b.left -= n
	return n, err
}

// decoded returns the text of a CSV file as UTF-8, without a byte order mark. A mark of UTF-16 is
// honoured, and bytes that are no UTF-8 are read as Windows-1252, which contains Latin-1: both are
// what spreadsheets write.
func decoded(in io.Reader) *bufio.Reader {
	utf := unicode.BOMOverride(windows1252{})
	return bufio.NewReader(transform.NewReader(in, utf))
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
