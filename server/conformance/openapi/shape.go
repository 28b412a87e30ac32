package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// mark records whether an exchange has shown a part of the document.
type mark struct{ seen atomic.Bool }

func (m *mark) set() {
	// Most parts are seen many times, and reading shared memory is cheaper than writing it.
	if m != nil && !m.seen.Load() {
		m.seen.Store(true)
	}
}

// mark returns the mark of a part, whose name for a reader is place, and creates a missing one.
func (d *Document) mark(place string) *mark {
	if d.marks[place] == nil {
		d.marks[place] = &mark{}
	}
	return d.marks[place]
}

type shape struct {
	pointer string
	node    map[string]any
	schema  *jsonschema.Schema
	// mark is nil unless the schema is that of a property, of additional properties, of a list's items, or of an alternative in
	// anyOf. A null sets the field null instead.
	mark *mark
	null *mark            // nil if the schema does not allow null
	enum map[string]*mark // by the value's JSON

	properties map[string]*shape
	additional *shape
	items      *shape
	allOf      []*shape // a value must match all of these: references and allOf
	anyOf      []*shape // a value must match at least one of these: oneOf and anyOf
}

func (d *Document) shapeAt(pointer string) (*shape, error) {
	if s := d.shapes[pointer]; s != nil {
		return s, nil
	}
	node, ok := d.find(pointer).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no schema at %s", pointer)
	}
	s := &shape{pointer: pointer, node: node}
	d.shapes[pointer] = s // stored before its parts are compiled, because a part may refer to it
	var err error
	if s.schema, err = d.compiler.Compile(location + "#" + (&url.URL{Fragment: pointer}).EscapedFragment()); err != nil {
		return nil, fmt.Errorf("schema at %s: %w", pointer, err)
	}
	if ref, ok := node["$ref"].(string); ok {
		target, local := strings.CutPrefix(ref, "#")
		if !local {
			return nil, fmt.Errorf("schema at %s: %s refers to another document", pointer, ref)
		}
		part, err := d.shapeAt(target)
		if err != nil {
			return nil, err
		}
		s.allOf = append(s.allOf, part)
	}
	if types, ok := node["type"].([]any); ok && len(types) > 1 && slices.Contains(types, any("null")) {
		s.null = d.mark(pointer + " null")
	}
	if values, ok := node["enum"].([]any); ok {
		s.enum = map[string]*mark{}
		for _, value := range values {
			s.enum[scalarText(value)] = d.mark(pointer + " " + scalarText(value))
		}
	}
	return s, d.parts(s)
}

func (d *Document) parts(s *shape) error {
	part := func(step string) (*shape, error) {
		in, err := d.shapeAt(s.pointer + step)
		if err == nil {
			in.mark = d.mark(in.pointer)
		}
		return in, err
	}
	var err error
	if named, ok := s.node["properties"].(map[string]any); ok {
		s.properties = map[string]*shape{}
		for name := range named {
			if s.properties[name], err = part("/properties/" + escape(name)); err != nil {
				return err
			}
		}
	}
	if _, ok := s.node["additionalProperties"].(map[string]any); ok {
		if s.additional, err = part("/additionalProperties"); err != nil {
			return err
		}
	}
	if _, ok := s.node["items"].(map[string]any); ok {
		if s.items, err = part("/items"); err != nil {
			return err
		}
	}
	for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
		list, _ := s.node[keyword].([]any)
		for i := range list {
			step := "/" + keyword + "/" + strconv.Itoa(i)
			if keyword == "allOf" {
				in, err := d.shapeAt(s.pointer + step)
				if err != nil {
					return err
				}
				s.allOf = append(s.allOf, in)
				continue
			}
			in, err := d.shapeAt(s.pointer + step)
			if err != nil {
				return err
			}
			ref, _ := in.node["$ref"].(string)
			in.mark = d.mark(strings.TrimSpace(in.pointer + " " + ref)) // with the $ref, which says more than the branch's number
			s.anyOf = append(s.anyOf, in)
		}
	}
	return nil
}

func (s *shape) validate(value any) error {
	err := s.schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	return errors.Join(leaves(invalid)...)
}

// english returns a printer that goroutines must not share.
func english() *message.Printer { return message.NewPrinter(language.English) }

// leaves returns the errors at wrong places, without those of the schemas around them.
func leaves(e *jsonschema.ValidationError) []error {
	if len(e.Causes) == 0 {
		return []error{fmt.Errorf("/%s: %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(english()))}
	}
	var out []error
	for _, cause := range e.Causes {
		out = append(out, leaves(cause)...)
	}
	return out
}

func (s *shape) cover(value any) {
	if value == nil && s.null != nil {
		s.null.set()
	} else {
		s.mark.set()
	}
	s.enum[scalarText(value)].set()
	for _, part := range s.allOf {
		part.cover(value)
	}
	for _, part := range s.anyOf {
		if part.schema.Validate(value) == nil {
			part.cover(value)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, in := range value {
			if part := s.properties[name]; part != nil {
				part.cover(in)
			} else if s.additional != nil {
				s.additional.cover(in)
			}
		}
	case []any:
		for _, in := range value {
			if s.items != nil {
				s.items.cover(in)
			}
		}
	}
}

// scalarText returns a scalar's JSON, its key in enum, or "" for other values.
func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}

// property also looks in references, allOf, anyOf and oneOf, or returns nil.
func (s *shape) property(name string) *shape {
	if p := s.properties[name]; p != nil {
		return p
	}
	for _, part := range slices.Concat(s.allOf, s.anyOf) {
		if p := part.property(name); p != nil {
			return p
		}
	}
	return nil
}

func (s *shape) texts() []string {
	if text, ok := s.node["const"].(string); ok {
		return []string{text}
	}
	var out []string
	if values, ok := s.node["enum"].([]any); ok {
		for _, value := range values {
			if text, ok := value.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	for _, part := range s.allOf {
		out = append(out, part.texts()...)
	}
	return out
}

// types are those of the schema, or else of its references, allOf, anyOf and oneOf, or nil.
func (s *shape) types() []string {
	switch types := s.node["type"].(type) {
	case string:
		return []string{types}
	case []any:
		out := make([]string, 0, len(types))
		for _, kind := range types {
			out = append(out, fmt.Sprint(kind))
		}
		return out
	}
	found := map[string]bool{}
	for _, part := range slices.Concat(s.allOf, s.anyOf) {
		for _, kind := range part.types() {
			found[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
