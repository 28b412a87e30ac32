package wire

import (
	"reflect"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// appendStruct encodes a message from its generated struct, which is much faster than protoreflect.
// The bytes are those of appendReflected; a test compares the two.
func (p *plan) appendStruct(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	first := true
	var reflected protoreflect.Message // made for the first field that needs it
	for i := range p.fields {
		f := &p.fields[i]
		if f.index < 0 || f.desc.IsMap() {
			if reflected == nil {
				reflected = v.Addr().Interface().(proto.Message).ProtoReflect()
			}
			b = f.appendReflected(b, reflected, &first)
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.key...)
		b = f.appendGo(b, v.Field(f.index))
	}
	return append(b, '}')
}

// appendGo encodes the field's value in a Go struct.
func (f *field) appendGo(b []byte, v reflect.Value) []byte {
	if !f.list {
		return f.appendGoValue(b, v)
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendGoValue(b, v.Index(i))
	}
	return append(b, ']')
}

// appendGoValue encodes one Go value of the field: the field itself, or an element of a list.
func (f *field) appendGoValue(b []byte, v reflect.Value) []byte {
	switch f.shape {
	case shapeTimestamp:
		return appendTimestamp(b, v.Interface().(*timestamppb.Timestamp))
	case shapeMask:
		return appendMask(b, v.Interface().(*fieldmaskpb.FieldMask))
	case shapeBytes:
		if f.nullable && v.IsNil() {
			return append(b, "null"...)
		}
		return appendBytes(b, v.Bytes())
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(b, "null"...)
		}
		v = v.Elem()
	}
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
		return appendFloat(b, v.Float(), v.Type().Bits())
	case shapeEnum:
		return f.enum.append(b, v.Int())
	default:
		return f.message.appendStruct(b, v)
	}
}
