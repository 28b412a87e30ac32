package apijson

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// SetText sets a field of m from the text of a query or path parameter: text as it is, integers in
// decimal digits, enum values by name, moments in RFC 3339. For invalid text it leaves m unchanged
// and returns a problem, which explains what the field may contain; otherwise the problem is empty.
// Repeated fields, and messages other than moments, are always a problem.
func SetText(m proto.Message, fd protoreflect.FieldDescriptor, text string) (problem string) {
	r := m.ProtoReflect()
	f := &planOf(r).fields[fd.Index()]
	v, problem := parseText(f, text)
	if problem == "" {
		r.Set(fd, v)
	}
	return problem
}

// parseText reads the text form of one value.
func parseText(f *field, text string) (v protoreflect.Value, problem string) {
	if f.list || f.desc.IsMap() {
		return v, "must be left out"
	}
	switch f.shape {
	case shapeString:
		switch {
		case !utf8.ValidString(text):
			return v, problemUnicode
		case strings.IndexByte(text, 0) >= 0:
			return v, problemNUL
		}
		return protoreflect.ValueOfString(text), ""
	case shapeBool:
		if text == "true" || text == "false" {
			return protoreflect.ValueOfBool(text == "true"), ""
		}
	case shapeInt, shapeUint:
		if isDecimal(text) {
			return integerValue(f, []byte(text))
		}
	case shapeFloat:
		n, err := strconv.ParseFloat(text, floatBits(f.desc))
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			break
		}
		if f.desc.Kind() == protoreflect.FloatKind {
			return protoreflect.ValueOfFloat32(float32(n)), ""
		}
		return protoreflect.ValueOfFloat64(n), ""
	case shapeEnum:
		if e := f.enum.desc.Values().ByName(protoreflect.Name(text)); e != nil && e.Number() != 0 {
			return protoreflect.ValueOfEnum(e.Number()), ""
		}
	case shapeBytes:
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			return protoreflect.ValueOfBytes(data), ""
		}
	case shapeTimestamp:
		return parseTimestamp(f, text)
	}
	return v, f.must
}

// isDecimal reports whether text is an optional minus and digits.
func isDecimal(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return false
		}
	}
	return digits != ""
}

// integerValue returns the value of a number's text for an integer field.
func integerValue(f *field, text []byte) (v protoreflect.Value, problem string) {
	n, problem := parseInteger(text)
	if problem != "" {
		return v, problem
	}
	size := 32
	if is64(f.desc) {
		size = 64
	}
	if f.shape == shapeUint {
		u, problem := n.unsigned(size)
		if size == 32 {
			return protoreflect.ValueOfUint32(uint32(u)), problem
		}
		return protoreflect.ValueOfUint64(u), problem
	}
	i, problem := n.signed(size)
	if size == 32 {
		return protoreflect.ValueOfInt32(int32(i)), problem
	}
	return protoreflect.ValueOfInt64(i), problem
}

// is64 reports whether the field holds 64-bit integers.
func is64(fd protoreflect.FieldDescriptor) bool {
	switch fd.Kind() {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return true
	default:
		return false
	}
}
