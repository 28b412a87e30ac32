package apijson

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// appendMessage appends a whole message. A top-level Timestamp or FieldMask has the same form as
// inside another message.
func appendMessage(b []byte, m proto.Message) []byte {
	switch m := m.(type) {
	case nil:
		return append(b, "null"...)
	case *timestamppb.Timestamp:
		return appendTimestamp(b, m)
	case *fieldmaskpb.FieldMask:
		return appendMask(b, m)
	}
	r := m.ProtoReflect()
	if !r.IsValid() {
		return append(b, "null"...)
	}
	// A dynamic message of those two types, as in a tool without our generated code.
	switch r.Descriptor().FullName() {
	case timestampName:
		t := &timestamppb.Timestamp{}
		proto.Merge(t, m)
		return appendTimestamp(b, t)
	case fieldMaskName:
		mask := &fieldmaskpb.FieldMask{}
		proto.Merge(mask, m)
		return appendMask(b, mask)
	}
	return planOf(r).append(b, r)
}

// append encodes a message.
func (p *plan) append(b []byte, m protoreflect.Message) []byte {
	b = append(b, '{')
	first := true
	for i := range p.fields {
		b = p.fields[i].append(b, m, &first)
	}
	return append(b, '}')
}

// append encodes one field with its key and the comma before it. Of a oneof it encodes
// only the set member.
func (f *field) append(b []byte, m protoreflect.Message, first *bool) []byte {
	has := m.Has(f.desc)
	if oneof := f.desc.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() && !has {
		return b
	}
	if !*first {
		b = append(b, ',')
	}
	*first = false
	b = append(b, f.key...)
	if f.nullable && !has {
		return append(b, "null"...)
	}
	v := m.Get(f.desc)
	switch {
	case f.desc.IsMap():
		return f.appendMap(b, v.Map())
	case f.desc.IsList():
		b = append(b, '[')
		for i, list := 0, v.List(); i < list.Len(); i++ {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.appendValue(b, list.Get(i))
		}
		return append(b, ']')
	default:
		return f.appendValue(b, v)
	}
}

// appendValue encodes one value of the field: the field itself, or an element of a list.
func (f *field) appendValue(b []byte, v protoreflect.Value) []byte {
	switch f.shape {
	case shapeString:
		return AppendString(b, v.String())
	case shapeBool:
		return strconv.AppendBool(b, v.Bool())
	case shapeInt:
		return strconv.AppendInt(b, v.Int(), 10)
	case shapeUint:
		return strconv.AppendUint(b, v.Uint(), 10)
	case shapeFloat:
		return appendFloat(b, v.Float(), floatBits(f.desc))
	case shapeEnum:
		return f.enum.append(b, int64(v.Enum()))
	case shapeBytes:
		return appendBytes(b, v.Bytes())
	default:
		return appendMessage(b, v.Message().Interface())
	}
}

// appendMap encodes a map with its keys in order, so that equal maps are equal bytes.
func (f *field) appendMap(b []byte, m protoreflect.Map) []byte {
	type entry struct {
		key   string
		value protoreflect.Value
	}
	entries := make([]entry, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		entries = append(entries, entry{k.String(), v})
		return true
	})
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.key, y.key) })
	value := mapValue(f.desc)
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, e.key), ':')
		b = value.appendValue(b, e.value)
	}
	return append(b, '}')
}

// mapValue describes the values of a map field.
func mapValue(fd protoreflect.FieldDescriptor) *field {
	value := &field{desc: fd.MapValue(), shape: shapeOf(fd.MapValue())}
	if value.shape == shapeEnum {
		value.enum = newEnumNames(value.desc.Enum())
	}
	value.must = mustOf(value)
	return value
}

func floatBits(fd protoreflect.FieldDescriptor) int {
	if fd.Kind() == protoreflect.FloatKind {
		return 32
	}
	return 64
}

// appendFloat encodes a number as encoding/json does: the shortest text that parses to the same
// number, with an exponent only where ECMAScript would write one.
func appendFloat(b []byte, n float64, bits int) []byte {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if abs := math.Abs(n); abs != 0 {
		small, large := abs < 1e-6, abs >= 1e21
		if bits == 32 {
			small, large = float32(abs) < 1e-6, float32(abs) >= 1e21
		}
		if small || large {
			format = 'e'
		}
	}
	b = strconv.AppendFloat(b, n, format, -1, bits)
	if end := len(b); format == 'e' && end >= 4 && b[end-4] == 'e' && b[end-3] == '-' && b[end-2] == '0' {
		b[end-2] = b[end-1]
		b = b[:end-1]
	}
	return b
}

func appendBytes(b, data []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, data)
	return append(b, '"')
}

func appendTimestamp(b []byte, t *timestamppb.Timestamp) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	return AppendTime(b, t.AsTime())
}

// appendMask encodes a mask as protobuf's JSON mapping does: camelCase names, separated by commas.
func appendMask(b []byte, mask *fieldmaskpb.FieldMask) []byte {
	if mask == nil {
		return append(b, "null"...)
	}
	var names strings.Builder
	for i, path := range mask.GetPaths() {
		if i > 0 {
			names.WriteByte(',')
		}
		for j := 0; j < len(path); j++ {
			c := path[j]
			if c == '_' && j+1 < len(path) && 'a' <= path[j+1] && path[j+1] <= 'z' {
				j++
				c = path[j] - 'a' + 'A'
			}
			names.WriteByte(c)
		}
	}
	return AppendString(b, names.String())
}
