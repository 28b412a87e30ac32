package apijson

import (
	"math"
	"math/bits"
)

// integer is the exact value of a number's text.
type integer struct {
	negative  bool
	magnitude uint64
}

// Why a number is not an integer of a given size.
const (
	problemWhole = "must be an integer"
	problemRange = "must be an integer within the range of the field"
)

// parseInteger returns the exact value of a JSON number: 100.0 and 1e2 are 100, 1.5 is not whole.
// The text must follow JSON's grammar. The work is bounded by the length of the text, whatever the
// exponent.
func parseInteger(text []byte) (n integer, problem string) {
	if text[0] == '-' {
		n.negative = true
		text = text[1:]
	}
	// The value is the digits, without the point, times ten to the power of exponent.
	var exponent int64
	digits, point := 0, -1
	for i, c := range text {
		if c == '.' {
			point = i
			continue
		}
		if c|0x20 == 'e' {
			exponent = parseExponent(text[i+1:])
			break
		}
		digits = i + 1
	}
	text = text[:digits]
	if point >= 0 {
		exponent -= int64(len(text) - point - 1)
	}
	// Zeros at the end of the digits belong to the exponent.
	for len(text) > 0 && (text[len(text)-1] == '0' || text[len(text)-1] == '.') {
		if text[len(text)-1] == '0' {
			exponent++
		}
		text = text[:len(text)-1]
	}
	for _, c := range text {
		if c == '.' {
			continue
		}
		if !n.shift(uint64(c - '0')) {
			problem = problemRange
			break
		}
	}
	switch {
	case n.magnitude == 0 && problem == "":
		return integer{}, ""
	case exponent < 0:
		return n, problemWhole
	case problem != "":
		return n, problem
	}
	for ; exponent > 0; exponent-- {
		if !n.shift(0) {
			return n, problemRange
		}
	}
	return n, ""
}

// shift appends a decimal digit; false when the magnitude leaves 64 bits.
func (n *integer) shift(digit uint64) bool {
	high, low := bits.Mul64(n.magnitude, 10)
	sum, carry := bits.Add64(low, digit, 0)
	if high != 0 || carry != 0 {
		return false
	}
	n.magnitude = sum
	return true
}

// maxExponent stands for every larger exponent: no text is long enough to make up for it.
const maxExponent = math.MaxInt64 / 100

func parseExponent(text []byte) int64 {
	negative := text[0] == '-'
	var e int64
	for _, c := range text {
		if isDigit(c) && e < maxExponent {
			e = e*10 + int64(c-'0')
		}
	}
	if negative {
		return -e
	}
	return e
}

// signed returns the value as an integer of the given size.
func (n integer) signed(size int) (int64, string) {
	limit := uint64(1) << (size - 1)
	switch {
	case n.negative && n.magnitude <= limit:
		return -int64(n.magnitude), "" // the smallest value is its own negation
	case !n.negative && n.magnitude < limit:
		return int64(n.magnitude), ""
	default:
		return 0, problemRange
	}
}

// unsigned returns the value as an integer of the given size.
func (n integer) unsigned(size int) (uint64, string) {
	if n.negative && n.magnitude > 0 || size < 64 && n.magnitude>>size != 0 {
		return 0, problemRange
	}
	return n.magnitude, ""
}
