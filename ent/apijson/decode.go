package apijson

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// maxFields keeps the answer to a body with many unknown names from being many times as long as the body.
const maxFields = 1000

const (
	problemUnknown = "is not a known field"
	problemMask    = "must name fields of the request, separated by commas"
)

// unreadable is for a text that is not one valid JSON object. The client sees the string.
type unreadable string

func (e unreadable) Error() string { return string(e) }

const (
	errEmpty         unreadable = "The body is empty; it must be a JSON object."
	errNotObject     unreadable = "The body must be a JSON object."
	errSyntax        unreadable = "The body is not valid JSON."
	errTrailing      unreadable = "The body has text after the JSON object."
	errByteOrderMark unreadable = "The body begins with a byte order mark (U+FEFF); send the JSON object without it."
	errUTF16         unreadable = "The body is UTF-16; send it as UTF-8, without a byte order mark."
	errName          unreadable = "The body has a name that is not valid text."
)

// decoder reads one JSON text into one message. It stops at a syntax error and collects other errors.
type decoder struct {
	*jsontext.Decoder

	// typed is true for what Codec reads.
	typed        bool
	plan         *plan    // of the whole message
	unknown      []string // top-level names to refuse
	fields       []Field
	refusedNames map[string]bool // of the fields in fields
}

// decode resets m and reads data into it. It returns nil if it refused nothing.
func decode(data []byte, m proto.Message, typed bool, unknown []string) *Invalid {
	proto.Reset(m)
	// The reader accepts repeated names and text that is not Unicode, so that the decoder can name the fields.
	text := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d := &decoder{Decoder: text, typed: typed, plan: planOf(m.ProtoReflect()), unknown: unknown, refusedNames: map[string]bool{}}
	var err error
	switch {
	case len(data) == 0:
		err = errEmpty
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		err = errByteOrderMark
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		err = errUTF16
	default:
		err = d.body(m.ProtoReflect())
	}
	if err != nil {
		proto.Reset(m)
		return &Invalid{Message: err.Error()}
	}
	if len(d.fields) > 0 {
		return &Invalid{Message: messageFields, Fields: d.fields}
	}
	return nil
}

func (d *decoder) body(m protoreflect.Message) error {
	if d.PeekKind() != '{' {
		if d.SkipValue() != nil {
			return errSyntax
		}
		return errNotObject
	}
	if err := d.message(m, d.plan); err != nil {
		if errors.Is(err, errName) {
			return errName
		}
		return errSyntax
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// refuse adds the field whose value was read last, once, up to maxFields fields.
func (d *decoder) refuse(message string) {
	if len(d.fields) >= maxFields {
		return
	}
	var name strings.Builder
	depth, p := 1, d.plan // p is nil inside of a map, because its keys are not names of fields
	for step := range d.StackPointer().Tokens() {
		kind, _ := d.StackIndex(depth)
		if kind != '[' && p != nil {
			if i, known := p.index(step, d.typed); known {
				f := p.fields[i]
				step = f.desc.JSONName()
				if p = f.message; f.desc.IsMap() {
					p = nil
				}
			}
		}
		if kind == '[' {
			step = "[" + step + "]"
		} else if depth > 1 {
			step = "." + step
		}
		name.WriteString(step)
		depth++
	}
	if n := name.String(); !d.refusedNames[n] {
		d.refusedNames[n] = true
		d.fields = append(d.fields, Field{n, message})
	}
}

func (d *decoder) refuseNext(message string) error {
	err := d.SkipValue()
	if err == nil {
		d.refuse(message)
	}
	return err
}

// message reads a JSON object into m, whose type's plan is p.
func (d *decoder) message(m protoreflect.Message, p *plan) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	seen := make([]bool, len(p.fields))
	var mask []string
	for d.PeekKind() != '}' {
		name, err := d.name()
		if err != nil {
			return err
		}
		i, known := p.index(name, d.typed)
		switch {
		case !known || d.StackDepth() == 1 && slices.Contains(d.unknown, name):
			err = d.refuseNext(problemUnknown)
		case seen[i]:
			err = d.refuseNext(MessageRepeated)
		case i == p.mask:
			err = d.mask(m, p)
		default:
			if f := p.fields[i].desc.Name(); f != pathField {
				mask = append(mask, string(f))
			}
			err = d.field(m, &p.fields[i])
		}
		if err != nil {
			return err
		}
		if known {
			seen[i] = true
		}
	}
	if p.mask >= 0 && !m.Has(p.fields[p.mask].desc) {
		m.Set(p.fields[p.mask].desc, protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: mask}).ProtoReflect()))
	}
	_, err := d.ReadToken()
	return err
}

// pathField is in the URL's path. A request cannot change it, so no mask has it.
const pathField = "id"

func (d *decoder) name() (string, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	name, valid := unquote(raw)
	if !valid || strings.Contains(name, "\x00") {
		return "", errName
	}
	return name, nil
}

// unquote reports whether a JSON string is valid Unicode.
func unquote(raw jsontext.Value) (string, bool) {
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

// mask reads update_mask, names of fields of m in camelCase. If it is null, the mask is filled from the names in the JSON text,
// as if it were missing.
func (d *decoder) mask(m protoreflect.Message, p *plan) error {
	f, kind := &p.fields[p.mask], d.PeekKind()
	raw, err := d.ReadValue()
	if err != nil || kind == 'n' {
		return err
	}
	if kind != '"' {
		d.refuse(f.problem)
		return nil
	}
	text, _ := unquote(raw)
	mask := &fieldmaskpb.FieldMask{}
	for name := range strings.SplitSeq(text, ",") {
		i, known := p.byName[name]
		switch {
		case text == "":
		case !known || i == p.mask || p.fields[i].desc.Name() == pathField:
			d.refuse(problemMask)
			return nil
		default:
			mask.Paths = append(mask.Paths, string(p.fields[i].desc.Name()))
		}
	}
	m.Set(f.desc, protoreflect.ValueOfMessage(mask.ProtoReflect()))
	return nil
}

// field reads the value of one field into m.
func (d *decoder) field(m protoreflect.Message, f *field) error {
	switch kind := d.PeekKind(); {
	case kind == 'n' && f.nullable:
		return d.SkipValue()
	case kind == 'n':
		return d.refuseNext(f.typeProblem() + "; null is not allowed")
	case f.desc.IsMap() && kind == '{':
		return d.object(m.Mutable(f.desc).Map(), f)
	case f.desc.IsList() && kind == '[':
		return d.array(m.Mutable(f.desc).List(), f)
	case f.desc.IsMap(), f.desc.IsList():
		return d.refuseNext(f.typeProblem())
	}
	return d.value(f, func() protoreflect.Value { return m.NewField(f.desc) }, func(v protoreflect.Value) { m.Set(f.desc, v) })
}

func (d *decoder) array(list protoreflect.List, f *field) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := d.value(f, list.NewElement, list.Append); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (d *decoder) object(entries protoreflect.Map, f *field) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.name()
		if err != nil {
			return err
		}
		key := protoreflect.ValueOfString(name).MapKey()
		if entries.Has(key) {
			err = d.refuseNext(MessageRepeated)
		} else {
			err = d.value(f, entries.NewValue, func(v protoreflect.Value) { entries.Set(key, v) })
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// value reads the whole of a field, or one element of a list or a map, and calls set unless it refuses the value.
func (d *decoder) value(f *field, empty func() protoreflect.Value, set func(protoreflect.Value)) error {
	kind := d.PeekKind()
	if f.shape == shapeMessage && kind == '{' {
		v := empty()
		err := d.message(v.Message(), f.message)
		set(v)
		return err
	}
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	v, problem := protoreflect.Value{}, f.problem
	switch {
	case kind == '"':
		if text, valid := unquote(raw); valid {
			v, problem = f.parse(text, d.typed && f.is64(), d.typed)
		} else if problem = f.problem; f.shape == shapeString {
			problem = problemUnicode
		}
	case kind == '0':
		v, problem = f.number(string(raw), d.typed)
	case (kind == 't' || kind == 'f') && f.shape == shapeBool:
		v, problem = protoreflect.ValueOfBool(kind == 't'), ""
	}
	if problem != "" {
		d.refuse(problem)
	} else {
		set(v)
	}
	return nil
}
