package apijson

import (
	"encoding/base64"
	"math"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// value reads one value that is neither an object nor an array. If problem is not empty, the value
// was skipped.
func (d *decoder) value(f *field) (v protoreflect.Value, problem string, err error) {
	switch c := d.peek(); {
	case c == '"':
		text, problem, err := d.str()
		if err != nil || problem != "" {
			return v, problem, err
		}
		v, problem = d.fromString(f, text)
		return v, problem, nil
	case c == '-' || isDigit(c):
		text, err := d.number()
		if err != nil {
			return v, "", err
		}
		v, problem = d.fromNumber(f, text)
		return v, problem, nil
	case c == 't' && f.shape == shapeBool:
		return protoreflect.ValueOfBool(true), "", d.literal("true")
	case c == 'f' && f.shape == shapeBool:
		return protoreflect.ValueOfBool(false), "", d.literal("false")
	default:
		return v, f.must, d.skip()
	}
}

// fromString converts a JSON string to a value of the field.
func (d *decoder) fromString(f *field, text []byte) (protoreflect.Value, string) {
	switch f.shape {
	case shapeString:
		return protoreflect.ValueOfString(string(text)), ""
	case shapeTimestamp:
		return parseTimestamp(f, string(text))
	case shapeEnum:
		if v := f.enum.desc.Values().ByName(protoreflect.Name(text)); v != nil && (d.typed || v.Number() != 0) {
			return protoreflect.ValueOfEnum(v.Number()), ""
		}
	case shapeBytes:
		if data, err := base64.StdEncoding.DecodeString(string(text)); err == nil {
			return protoreflect.ValueOfBytes(data), ""
		}
	case shapeInt, shapeUint:
		if d.typed && is64(f.desc) {
			return parseText(f, string(text))
		}
	}
	return protoreflect.Value{}, f.must
}

// fromNumber converts a JSON number to a value of the field.
func (d *decoder) fromNumber(f *field, text []byte) (protoreflect.Value, string) {
	switch f.shape {
	case shapeInt, shapeUint:
		return integerValue(f, text)
	case shapeFloat:
		n, err := strconv.ParseFloat(string(text), floatBits(f.desc))
		if err != nil || math.IsInf(n, 0) {
			return protoreflect.Value{}, problemNumber
		}
		if f.desc.Kind() == protoreflect.FloatKind {
			return protoreflect.ValueOfFloat32(float32(n)), ""
		}
		return protoreflect.ValueOfFloat64(n), ""
	case shapeEnum:
		if !d.typed {
			break
		}
		n, problem := parseInteger(text)
		number, outside := n.signed(32)
		if problem == "" && outside == "" && f.enum.desc.Values().ByNumber(protoreflect.EnumNumber(number)) != nil {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number)), ""
		}
	}
	return protoreflect.Value{}, f.must
}

// parseTimestamp reads a moment.
func parseTimestamp(f *field, text string) (protoreflect.Value, string) {
	t, err := ParseTime(text)
	if err != nil {
		return protoreflect.Value{}, f.must
	}
	return protoreflect.ValueOfMessage(timestamppb.New(t).ProtoReflect()), ""
}
