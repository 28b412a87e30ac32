package apijson

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// appendMessage writes a Timestamp or a FieldMask as inside another message.
func appendMessage(b []byte, m proto.Message) []byte {
	r := m.ProtoReflect()
	if !r.IsValid() {
		return append(b, "null"...)
	}
	switch m := m.(type) {
	case *timestamppb.Timestamp:
		return AppendTime(b, m.AsTime())
	case *fieldmaskpb.FieldMask:
		return appendMask(b, m)
	}
	b = append(b, '{')
	for i, fields := 0, planOf(r).fields; i < len(fields); i++ {
		if i > 0 {
			b = append(b, ',')
		}
		b = fields[i].append(b, r)
	}
	return append(b, '}')
}

func (f *field) append(b []byte, m protoreflect.Message) []byte {
	b = append(b, f.key...)
	if f.nullable && !m.Has(f.desc) {
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

// appendValue appends the whole of a field, or one element of a list or a map.
func (f *field) appendValue(b []byte, v protoreflect.Value) []byte {
	switch f.shape {
	case shapeString:
		return AppendString(b, v.String())
	case shapeBool:
		return strconv.AppendBool(b, v.Bool())
	case shapeInt:
		return strconv.AppendInt(b, v.Int(), 10)
	case shapeFloat:
		if n := v.Float(); !math.IsNaN(n) && !math.IsInf(n, 0) {
			return append(b, jsontext.Float(n).String()...)
		}
		return append(b, "null"...)
	case shapeEnum:
		if value := f.desc.Enum().Values().ByNumber(v.Enum()); value != nil {
			return AppendString(b, string(value.Name()))
		}
		return strconv.AppendInt(b, int64(v.Enum()), 10) // the enum has no name for this number
	default:
		return appendMessage(b, v.Message().Interface())
	}
}

// appendMap sorts keys, so that equal maps have equal bytes.
func (f *field) appendMap(b []byte, m protoreflect.Map) []byte {
	entries := map[string]protoreflect.Value{}
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		entries[k.String()] = v
		return true
	})
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(entries)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, key), ':')
		b = f.appendValue(b, entries[key])
	}
	return append(b, '}')
}

// appendMask is as in protobuf's JSON mapping: camelCase names, separated by commas.
func appendMask(b []byte, mask *fieldmaskpb.FieldMask) []byte {
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
