package apijson

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	timestampName = protoreflect.FullName("google.protobuf.Timestamp")
	fieldMaskName = protoreflect.FullName("google.protobuf.FieldMask")
)

// plan describes a message type, once for each.
type plan struct {
	fields      []field        // in the order of their declaration
	byName      map[string]int // from the JSON name to the index in fields
	byProtoName map[string]int // from the name in the .proto file to the index in fields; only names that differ from JSON
	mask        int            // index of update_mask; -1 without one
}

// index finds a JSON name or, if typed is true, also a .proto name, because Protobuf's JSON mapping requires parsers to accept
// both.
func (p *plan) index(name string, typed bool) (i int, known bool) {
	if i, known = p.byName[name]; !known && typed {
		i, known = p.byProtoName[name]
	}
	return i, known
}

// field describes one field of a message type.
type field struct {
	desc  protoreflect.FieldDescriptor
	key   []byte // `"priceAmount":`
	shape shape  // the shape of each of its values
	// nullable is true if the field is null in JSON when it is not set.
	nullable bool
	// message is the plan of the field's type, if that is a message.
	message *plan
	// problem says what a value must be.
	problem string
}

// shape is the JSON form of a value.
type shape uint8

const (
	shapeString shape = iota
	shapeBool
	shapeInt
	shapeFloat
	shapeEnum
	shapeTimestamp
	shapeMask
	shapeMessage
)

var plans struct {
	sync.Map // from protoreflect.MessageDescriptor to *plan
	building sync.Mutex
}

func planOf(m protoreflect.Message) *plan {
	md := m.Descriptor()
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	plans.building.Lock()
	defer plans.building.Unlock()
	return build(md)
}

// build first builds the plans of the fields' types; no type of the API contains itself.
func build(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md); ok {
		return p.(*plan)
	}
	descs := md.Fields()
	p := &plan{fields: make([]field, descs.Len()), byName: make(map[string]int, descs.Len()), byProtoName: map[string]int{}, mask: -1}
	for i := range p.fields {
		fd := descs.Get(i)
		value := fd
		if fd.IsMap() {
			value = fd.MapValue()
		}
		f := &p.fields[i]
		f.desc, f.key = fd, append(AppendString(nil, fd.JSONName()), ':')
		f.shape, f.problem = shapeOf(value)
		f.nullable = !fd.IsList() && !fd.IsMap() && fd.HasPresence()
		if f.shape == shapeMessage {
			f.message = build(value.Message())
		}
		p.byName[fd.JSONName()] = i
		if name := string(fd.Name()); name != fd.JSONName() {
			p.byProtoName[name] = i
		}
		if f.shape == shapeMask {
			p.mask = i
		}
	}
	plans.Store(md, p)
	return p
}

func shapeOf(fd protoreflect.FieldDescriptor) (s shape, problem string) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return shapeString, "must be a string"
	case protoreflect.BoolKind:
		return shapeBool, "must be true or false"
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return shapeInt, "must be an integer"
	case protoreflect.DoubleKind:
		return shapeFloat, "must be a number"
	case protoreflect.EnumKind:
		var names []string
		for i := range fd.Enum().Values().Len() {
			if v := fd.Enum().Values().Get(i); v.Number() != 0 { // zero means no value
				names = append(names, string(v.Name()))
			}
		}
		return shapeEnum, "must be one of " + strings.Join(names, ", ")
	case protoreflect.MessageKind:
		switch fd.Message().FullName() {
		case timestampName:
			return shapeTimestamp, "must be an RFC 3339 date-time, such as 2026-09-01T12:00:00.000Z"
		case fieldMaskName:
			return shapeMask, "must be a string of field names, separated by commas"
		}
		return shapeMessage, "must be an object"
	default:
		panic(fmt.Sprintf("apijson: the API has no JSON for %s of %s", fd.Kind(), fd.FullName()))
	}
}

// typeProblem is for a value that replaces a whole field, such as a number in place of an array.
func (f *field) typeProblem() string {
	switch {
	case f.desc.IsMap():
		return "must be an object"
	case f.desc.IsList():
		return "must be an array"
	default:
		return f.problem
	}
}
