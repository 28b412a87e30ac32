package apijson

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// maxFields bounds how many refused fields are listed, so that the answer to a body of unknown
// names is not many times its size.
const maxFields = 1000

const (
	problemUnknown = "is not a known field"
	problemNumber  = "must be a number within the range of the field"
	problemOneof   = "must not be given beside another field of its choice"
)

// decoder reads one JSON text into one message.
type decoder struct {
	scanner

	// typed also accepts what generated clients send and /v1 refuses: 64-bit integers as strings,
	// enum values as numbers, and the name of an enum's zero.
	typed   bool
	unknown []string // top-level names to refuse
	path    []segment
	steps   [4]segment // the path, while it is short
	fields  []Field
	named   map[string]bool // the names in fields
}

// segment is a step of the path to the value being read: a name, or a place in an array.
type segment struct {
	name  string
	index int // -1 for a name
}

// decode resets m and reads data into it; nil when nothing was refused.
func decode(data []byte, m proto.Message, typed bool, unknown []string) *Invalid {
	proto.Reset(m)
	d := &decoder{scanner: scanner{data: data}, typed: typed, unknown: unknown}
	d.path = d.steps[:0]
	r := m.ProtoReflect()
	if err := d.body(r); err != nil {
		proto.Reset(m)
		return &Invalid{Message: err.Error()}
	}
	if len(d.fields) > 0 {
		return &Invalid{Message: messageFields, Fields: d.fields}
	}
	return nil
}

func (d *decoder) body(m protoreflect.Message) error {
	switch d.peek() {
	case '{':
	case 0:
		if len(d.data) == 0 {
			return errEmpty
		}
		return errSyntax
	default:
		// A separate message, which is clearer than that for invalid JSON.
		if err := d.skip(); err != nil {
			return err
		}
		return errNotObject
	}
	if err := d.message(m, planOf(m)); err != nil {
		return err
	}
	d.peek()
	if d.pos < len(d.data) {
		return errTrailing
	}
	return nil
}

// refuse lists the field at the current path, unless it is listed already.
func (d *decoder) refuse(message string) {
	if len(d.fields) >= maxFields {
		return
	}
	var name strings.Builder
	for i, s := range d.path {
		if s.index >= 0 {
			name.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if i > 0 {
			name.WriteByte('.')
		}
		name.WriteString(s.name)
	}
	if d.named == nil {
		d.named = map[string]bool{}
	}
	if n := name.String(); !d.named[n] {
		d.named[n] = true
		d.fields = append(d.fields, Field{n, message})
	}
}

func (d *decoder) push(s segment) { d.path = append(d.path, s) }
func (d *decoder) pop()           { d.path = d.path[:len(d.path)-1] }

// message reads an object into m.
func (d *decoder) message(m protoreflect.Message, p *plan) error {
	if err := d.open('{'); err != nil {
		return err
	}
	var small [32]bool // on the stack; no message of the API has more fields
	seen := small[:]
	if len(p.fields) > len(seen) {
		seen = make([]bool, len(p.fields))
	}
	var mask []string
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		i, known := p.byName[string(name)]
		if known && len(d.path) == 0 {
			known = !slices.Contains(d.unknown, p.fields[i].jsonName)
		}
		if !known {
			d.push(segment{name: string(name), index: -1})
			d.refuse(problemUnknown)
			d.pop()
			if err := d.skip(); err != nil {
				return err
			}
			continue
		}
		f := &p.fields[i]
		d.push(segment{name: f.jsonName, index: -1})
		switch {
		case seen[i]:
			d.refuse(MessageRepeated)
			err = d.skip()
		case i == p.mask:
			err = d.mask(m, p, f)
		default:
			if p.mask >= 0 && f.desc.Name() != pathField {
				if mask == nil {
					mask = make([]string, 0, len(p.fields))
				}
				mask = append(mask, string(f.desc.Name()))
			}
			err = d.field(m, f)
		}
		d.pop()
		seen[i] = true
		if err != nil {
			return err
		}
	}
	if p.mask >= 0 && !m.Has(p.fields[p.mask].desc) {
		m.Set(p.fields[p.mask].desc, protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: mask}).ProtoReflect()))
	}
	return nil
}

// pathField is the request field bound to the path; it cannot be changed, so no mask contains it.
const pathField = "id"

// field reads the value of one field into m.
func (d *decoder) field(m protoreflect.Message, f *field) error {
	c := d.peek()
	switch {
	case c == 'n':
		if err := d.literal("null"); err != nil {
			return err
		}
		if !f.nullable {
			d.refuse(f.mustWhole() + "; null is not allowed")
		}
		return nil
	case f.desc.IsMap():
		return d.object(m.Mutable(f.desc).Map(), f)
	case f.list:
		return d.array(m.Mutable(f.desc).List(), f)
	}
	if oneof := f.desc.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() && m.WhichOneof(oneof) != nil {
		d.refuse(problemOneof)
		return d.skip()
	}
	if f.shape == shapeMessage {
		if c != '{' {
			d.refuse(f.must)
			return d.skip()
		}
		return d.message(m.Mutable(f.desc).Message(), f.message)
	}
	v, problem, err := d.value(f)
	switch {
	case err != nil:
		return err
	case problem != "":
		d.refuse(problem)
	default:
		m.Set(f.desc, v)
	}
	return nil
}

// array reads the elements of a repeated field.
func (d *decoder) array(list protoreflect.List, f *field) error {
	if d.peek() != '[' {
		d.refuse(f.mustWhole())
		return d.skip()
	}
	if err := d.open('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		more, err := d.more(']', i == 0)
		if err != nil || !more {
			return err
		}
		d.push(segment{index: i})
		if f.shape == shapeMessage {
			if d.peek() == '{' {
				err = d.message(list.AppendMutable().Message(), f.message)
			} else {
				d.refuse(f.must)
				err = d.skip()
			}
		} else {
			var v protoreflect.Value
			var problem string
			if v, problem, err = d.value(f); problem != "" {
				d.refuse(problem)
			} else if err == nil {
				list.Append(v)
			}
		}
		d.pop()
		if err != nil {
			return err
		}
	}
}

// object reads the entries of a map field.
func (d *decoder) object(entries protoreflect.Map, f *field) error {
	if d.peek() != '{' {
		d.refuse(f.mustWhole())
		return d.skip()
	}
	if err := d.open('{'); err != nil {
		return err
	}
	value := mapValue(f.desc)
	keyField := &field{desc: f.desc.MapKey(), shape: shapeOf(f.desc.MapKey())}
	keyField.must = mustOf(keyField)
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil || !more {
			return err
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		text := string(name)
		d.push(segment{name: text, index: -1})
		key, problem := parseText(keyField, text)
		switch {
		case problem != "":
			d.refuse("the name " + problem)
			err = d.skip()
		case entries.Has(key.MapKey()):
			d.refuse(MessageRepeated)
			err = d.skip()
		case value.shape == shapeMessage && d.peek() == '{':
			v := entries.NewValue()
			if err = d.message(v.Message(), planOf(v.Message())); err == nil {
				entries.Set(key.MapKey(), v)
			}
		case value.shape == shapeMessage:
			d.refuse(value.must)
			err = d.skip()
		default:
			var v protoreflect.Value
			if v, problem, err = d.value(value); problem != "" {
				d.refuse(problem)
			} else if err == nil {
				entries.Set(key.MapKey(), v)
			}
		}
		d.pop()
		if err != nil {
			return err
		}
	}
}
