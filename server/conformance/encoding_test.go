package conformance_test

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// These functions encode by the rules of the specification, not by the service's encoder, which the tests check.

// encoded has all fields, and null for a field without a value.
func encoded(m protoreflect.Message) object {
	out := object{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		out[f.JSONName()] = spellField(m, f)
	}
	return out
}

func spellField(m protoreflect.Message, f protoreflect.FieldDescriptor) any {
	switch {
	case f.IsList():
		list := m.Get(f).List()
		out := make([]any, list.Len())
		for i := range out {
			out[i] = spellValue(f, list.Get(i))
		}
		return out
	case f.IsMap():
		out := object{}
		m.Get(f).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[k.String()] = spellValue(f.MapValue(), v)
			return true
		})
		return out
	case f.HasPresence() && !m.Has(f):
		return nil
	}
	return spellValue(f, m.Get(f))
}

func spellValue(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		if at, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
			return spellTime(at.AsTime())
		}
		return encoded(v.Message())
	case protoreflect.EnumKind:
		return string(f.Enum().Values().ByNumber(v.Enum()).Name())
	default:
		return v.Interface()
	}
}

func spellTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// encodedRequest has the mask's fields, with null for no value, or else those that are set.
func encodedRequest(m proto.Message) object {
	r := m.ProtoReflect()
	out := object{}
	mask := maskOf(r)
	r.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if f.Name() != "update_mask" && (mask == nil || f.Name() == "id") {
			out[f.JSONName()] = spellField(r, f)
		}
		return true
	})
	for _, path := range mask.GetPaths() {
		f := r.Descriptor().Fields().ByName(protoreflect.Name(path))
		out[f.JSONName()] = spellField(r, f)
	}
	return out
}

// encodedTyped is the form of generated clients: integers of 64 bits are texts, and the mask is one text.
func encodedTyped(m proto.Message) object {
	r := m.ProtoReflect()
	out := object{}
	r.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out[f.JSONName()] = spellField(r, f)
		switch {
		case f.Kind() == protoreflect.Int64Kind:
			out[f.JSONName()] = strconv.FormatInt(v.Int(), 10)
		case f.Name() == "update_mask":
			names := make([]string, len(maskOf(r).GetPaths()))
			for i, path := range maskOf(r).GetPaths() {
				names[i] = r.Descriptor().Fields().ByName(protoreflect.Name(path)).JSONName()
			}
			out[f.JSONName()] = strings.Join(names, ",")
		}
		return true
	})
	return out
}

func maskOf(r protoreflect.Message) *fieldmaskpb.FieldMask {
	f := r.Descriptor().Fields().ByName("update_mask")
	if f == nil || !r.Has(f) {
		return nil
	}
	return r.Get(f).Message().Interface().(*fieldmaskpb.FieldMask)
}

func mask(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }
