package apijson

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The reasons why a value is refused.
const (
	problemUnicode = "must be valid Unicode text"
	problemNUL     = "must not contain U+0000"
	problemNumber  = "must be a number within the range of the field"
	problemInteger = "must be an integer"
	problemRange   = "must be an integer within the range of the field"
)

// SetText sets a field from a query parameter: a string, an integer in decimal digits, an enum value's name, or a time in RFC
// 3339. problem is "", or says what the field may contain, also for a field of another type; then m is unchanged.
func SetText(m proto.Message, fd protoreflect.FieldDescriptor, text string) (problem string) {
	r := m.ProtoReflect()
	f := &planOf(r).fields[fd.Index()]
	if fd.IsList() || fd.IsMap() {
		return "must be left out"
	}
	v, problem := f.parse(text, true, false)
	if problem == "" {
		r.Set(fd, v)
	}
	return problem
}

var decimal = regexp.MustCompile(`^-?[0-9]+$`)

// parse reads a JSON string or a query parameter. If digits is true, an integer field accepts decimal digits; if zero is true,
// an enum field accepts the name of its zero.
func (f *field) parse(text string, digits, zero bool) (v protoreflect.Value, problem string) {
	switch f.shape {
	case shapeString:
		if strings.Contains(text, "\x00") {
			return v, problemNUL
		}
		return protoreflect.ValueOfString(text), ""
	case shapeTimestamp:
		if t, err := ParseTime(text); err == nil {
			return protoreflect.ValueOfMessage(timestamppb.New(t).ProtoReflect()), ""
		}
	case shapeEnum:
		if value := f.desc.Enum().Values().ByName(protoreflect.Name(text)); value != nil && (zero || value.Number() != 0) {
			return protoreflect.ValueOfEnum(value.Number()), ""
		}
	case shapeInt:
		if digits && decimal.MatchString(text) {
			return f.number(text, false)
		}
	}
	return v, f.problem
}

// number reads a JSON number. If enumNumbers is true, an enum field accepts it.
func (f *field) number(text string, enumNumbers bool) (v protoreflect.Value, problem string) {
	switch f.shape {
	case shapeFloat:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return v, problemNumber
		}
		return protoreflect.ValueOfFloat64(n), ""
	case shapeInt:
		n, problem := integer(text)
		switch {
		case problem != "":
			return v, problem
		case f.is64():
			return protoreflect.ValueOfInt64(n), ""
		case int64(int32(n)) != n:
			return v, problemRange
		}
		return protoreflect.ValueOfInt32(int32(n)), ""
	case shapeEnum:
		n, err := strconv.ParseInt(text, 10, 32)
		if enumNumbers && err == nil && f.desc.Enum().Values().ByNumber(protoreflect.EnumNumber(n)) != nil {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), ""
		}
	}
	return v, f.problem
}

func (f *field) is64() bool { return f.desc.Kind() == protoreflect.Int64Kind }

// maxDigits bounds the characters of a number's text, and its exponent in both directions.
const maxDigits = 400

// integer accepts 100.0 and 1e2, and has a problem with 1.5.
func integer(text string) (n int64, problem string) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	exponent := 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exponent, _ = strconv.Atoi(text[at+1:]) // beyond int's range, Atoi returns the nearest int
	}
	switch {
	case exponent < -maxDigits:
		return 0, problemInteger
	case len(text) > maxDigits, exponent > maxDigits:
		return 0, problemRange
	}
	switch r, ok := new(big.Rat).SetString(text); {
	case !ok || !r.IsInt():
		return 0, problemInteger
	case !r.Num().IsInt64():
		return 0, problemRange
	default:
		return r.Num().Int64(), ""
	}
}
