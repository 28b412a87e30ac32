package apijson

import (
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	timestampName = protoreflect.FullName("google.protobuf.Timestamp")
	fieldMaskName = protoreflect.FullName("google.protobuf.FieldMask")
)

// plan holds the properties of one message type for encoding and decoding, computed once.
type plan struct {
	fields []field        // in the order of declaration
	byName map[string]int // JSON name to index in fields
	mask   int            // index of update_mask; -1 without one
}

// field is one field of a plan.
type field struct {
	desc     protoreflect.FieldDescriptor
	key      []byte // `"priceAmount":`
	jsonName string
	shape    shape
	list     bool
	// nullable is true if null stands for an unset field.
	nullable bool
	// enum names every value of an enum field.
	enum *enumNames
	// message is the plan of a message field's type.
	message *plan
	// must is the message for an invalid value of the field.
	must string
}

// shape is how a value looks in JSON.
type shape uint8

const (
	shapeString shape = iota
	shapeBool
	shapeInt
	shapeUint
	shapeFloat
	shapeEnum
	shapeBytes
	shapeTimestamp
	shapeMask
	shapeMessage
)

var plans struct {
	sync.Map // protoreflect.MessageDescriptor to *plan, complete
	building sync.Mutex
}

// planOf returns the plan of m's type.
func planOf(m protoreflect.Message) *plan {
	md := m.Descriptor()
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	plans.building.Lock()
	defer plans.building.Unlock()
	// Types may contain each other, so a whole family is built before any of it is published.
	family := map[protoreflect.MessageDescriptor]*plan{}
	p := build(md, family)
	for md, p := range family {
		plans.LoadOrStore(md, p)
	}
	return p
}

func build(md protoreflect.MessageDescriptor, family map[protoreflect.MessageDescriptor]*plan) *plan {
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	if p := family[md]; p != nil {
		return p
	}
	descs := md.Fields()
	p := &plan{
		fields: make([]field, descs.Len()),
		byName: make(map[string]int, descs.Len()),
		mask:   -1,
	}
	family[md] = p
	for i := range p.fields {
		fd := descs.Get(i)
		f := &p.fields[i]
		f.desc, f.jsonName = fd, fd.JSONName()
		f.key = append(AppendString(nil, f.jsonName), ':')
		f.shape, f.list = shapeOf(fd), fd.IsList()
		f.nullable = !fd.IsList() && !fd.IsMap() && fd.HasPresence()
		if fd.Enum() != nil {
			f.enum = newEnumNames(fd.Enum())
		}
		if f.shape == shapeMessage && !fd.IsMap() {
			f.message = build(fd.Message(), family)
		}
		f.must = mustOf(f)
		p.byName[f.jsonName] = i
		if f.shape == shapeMask && fd.Name() == "update_mask" {
			p.mask = i
		}
	}
	return p
}

func shapeOf(fd protoreflect.FieldDescriptor) shape {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return shapeString
	case protoreflect.BoolKind:
		return shapeBool
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return shapeUint
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return shapeFloat
	case protoreflect.EnumKind:
		return shapeEnum
	case protoreflect.BytesKind:
		return shapeBytes
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch fd.Message().FullName() {
		case timestampName:
			return shapeTimestamp
		case fieldMaskName:
			return shapeMask
		}
		return shapeMessage
	default:
		return shapeInt
	}
}

// mustOf returns the message for an invalid value of the field.
func mustOf(f *field) string {
	switch f.shape {
	case shapeString:
		return "must be a string"
	case shapeBool:
		return "must be true or false"
	case shapeInt, shapeUint:
		return "must be an integer"
	case shapeFloat:
		return "must be a number"
	case shapeEnum:
		return "must be one of " + f.enum.list
	case shapeBytes:
		return "must be a base64 string"
	case shapeTimestamp:
		return "must be an RFC 3339 date-time, such as 2026-09-01T12:00:00.000Z"
	case shapeMask:
		return "must be a string of field names, separated by commas"
	default:
		return "must be an object"
	}
}

// mustWhole returns the message for an invalid field as a whole.
func (f *field) mustWhole() string {
	switch {
	case f.desc.IsMap():
		return "must be an object"
	case f.list:
		return "must be an array"
	default:
		return f.must
	}
}

// enumNames holds the names of one enum's values.
type enumNames struct {
	quoted [][]byte // by number, for the values from 0 up without a gap
	desc   protoreflect.EnumDescriptor
	list   string // every name except that of 0, which means no value
}

func newEnumNames(ed protoreflect.EnumDescriptor) *enumNames {
	e := &enumNames{desc: ed}
	var names []string
	values := ed.Values()
	for i := range values.Len() {
		v := values.Get(i)
		if int(v.Number()) == len(e.quoted) {
			e.quoted = append(e.quoted, AppendString(nil, string(v.Name())))
		}
		if v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	e.list = strings.Join(names, ", ")
	return e
}

// append appends value n: its name, or its number if it has no name.
func (e *enumNames) append(b []byte, n int64) []byte {
	if n >= 0 && n < int64(len(e.quoted)) {
		return append(b, e.quoted[n]...)
	}
	if v := e.desc.Values().ByNumber(protoreflect.EnumNumber(n)); v != nil {
		return AppendString(b, string(v.Name()))
	}
	return strconv.AppendInt(b, n, 10)
}
