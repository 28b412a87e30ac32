package apijson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep a request may nest objects and arrays. No message comes near it.
const maxDepth = 64

// syntaxError is the error of a text that is not JSON; it is the sentence for the client.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

const (
	errEmpty     = syntaxError("The body is empty; it must be a JSON object.")
	errNotObject = syntaxError("The body must be a JSON object.")
	errSyntax    = syntaxError("The body is not valid JSON.")
	errTrailing  = syntaxError("The body has text after the JSON object.")
	errDepth     = syntaxError("The body is nested too deeply.")
	errKey       = syntaxError("The body has a name that is not valid text.")
)

// Strings that JSON's grammar allows but this package refuses.
const (
	problemUnicode = "must be valid Unicode text"
	problemNUL     = "must not contain U+0000"
)

// scanner reads the tokens of a JSON text (RFC 8259).
type scanner struct {
	data    []byte
	pos     int
	depth   int
	scratch []byte // holds the last string that had escapes
}

// peek skips white space and returns the byte after it, or 0 at the end of the text.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// expect reads the byte c after white space.
func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return errSyntax
	}
	s.pos++
	return nil
}

// open reads the opening bracket of an object or an array; more reads the closing one.
func (s *scanner) open(c byte) error {
	if err := s.expect(c); err != nil {
		return err
	}
	if s.depth++; s.depth > maxDepth {
		return errDepth
	}
	return nil
}

// more reports whether another element follows before the closing bracket. It reads the bracket, or
// the comma between elements.
func (s *scanner) more(end byte, first bool) (bool, error) {
	switch c := s.peek(); {
	case c == end:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.pos++
		if s.peek() == end {
			return false, errSyntax
		}
		return true, nil
	default:
		return false, errSyntax
	}
}

// literal reads null, true or false.
func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return errSyntax
	}
	s.pos += len(word)
	return nil
}

// number reads a number and returns its text.
func (s *scanner) number() ([]byte, error) {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	whole := s.pos
	if s.digits() == 0 || (s.data[whole] == '0' && s.pos > whole+1) {
		return nil, errSyntax
	}
	if s.at('.') {
		s.pos++
		if s.digits() == 0 {
			return nil, errSyntax
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, errSyntax
		}
	}
	return s.data[start:s.pos], nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && isDigit(s.data[s.pos]) {
		s.pos++
	}
	return s.pos - start
}

// str reads a string. The text is valid until the next call of str. If problem is not empty, the
// string was read but must be refused.
func (s *scanner) str() (text []byte, problem string, err error) {
	if err := s.expect('"'); err != nil {
		return nil, "", err
	}
	start := s.pos
	ascii := true
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			text = s.data[start:s.pos]
			s.pos++
			if !ascii && !utf8.Valid(text) {
				return nil, problemUnicode, nil
			}
			return text, "", nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return nil, "", errSyntax
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.pos++
	}
	return nil, "", errSyntax
}

// escaped reads the rest of a string from its first escape on.
func (s *scanner) escaped(start int) ([]byte, string, error) {
	out := append(s.scratch[:0], s.data[start:s.pos]...)
	problem := ""
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		s.pos++
		switch {
		case c == '"':
			s.scratch = out
			if problem == "" && !utf8.Valid(out) {
				problem = problemUnicode
			}
			if problem != "" {
				return nil, problem, nil
			}
			return out, "", nil
		case c < ' ':
			return nil, "", errSyntax
		case c != '\\':
			out = append(out, c)
			continue
		}
		r, err := s.escape()
		if err != nil {
			return nil, "", err
		}
		switch r {
		case 0:
			problem = problemNUL
		case loneSurrogate:
			problem = problemUnicode
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return nil, "", errSyntax
}

// loneSurrogate is what escape returns for half of a surrogate pair.
const loneSurrogate rune = -1

// escape reads what follows a backslash.
func (s *scanner) escape() (rune, error) {
	if s.pos >= len(s.data) {
		return 0, errSyntax
	}
	c := s.data[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
	default:
		return 0, errSyntax
	}
	r, err := s.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !bytes.HasPrefix(s.data[s.pos:], []byte(`\u`)) {
		return loneSurrogate, nil
	}
	s.pos += 2
	low, err := s.hex4()
	if err != nil {
		return 0, err
	}
	if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
		return pair, nil
	}
	return loneSurrogate, nil // the string is refused in any case
}

// hex4 reads four hexadecimal digits.
func (s *scanner) hex4() (rune, error) {
	if s.pos+4 > len(s.data) {
		return 0, errSyntax
	}
	var r rune
	for _, c := range s.data[s.pos : s.pos+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, errSyntax
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r, nil
}

// skip reads past any value.
func (s *scanner) skip() error {
	switch c := s.peek(); {
	case c == '"':
		_, _, err := s.str()
		return err
	case c == 'n':
		return s.literal("null")
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == '-' || isDigit(c):
		_, err := s.number()
		return err
	case c == '{' || c == '[':
		return s.skipNested(c, c+2) // in ASCII, the closing bracket is two after the opening one
	default:
		return errSyntax
	}
}

func (s *scanner) skipNested(begin, end byte) error {
	if err := s.open(begin); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more(end, first)
		if err != nil || !more {
			return err
		}
		if begin == '{' {
			if _, err := s.name(); err != nil {
				return err
			}
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

// name reads the name of an object's member and the colon after it. The text is good until the
// next string.
func (s *scanner) name() ([]byte, error) {
	if s.peek() != '"' {
		return nil, errSyntax
	}
	name, problem, err := s.str()
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return nil, errKey
	}
	return name, s.expect(':')
}
