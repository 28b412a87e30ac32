package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/server/validate"
)

// formats maps the JSON name of a field, anywhere in the API, to the format or pattern of its text. Addresses have the
// format iri (RFC 3987) and not uri, because the API returns them as they were given, and they may have letters beyond
// ASCII.
var formats = map[string]schema{
	"id":        {Format: "uuid"},
	"productId": {Format: "uuid"},
	"requestId": {Format: "uuid"},
	"currency":  {Pattern: "^[A-Z]{3}$"},
	"country":   {Pattern: "^[A-Z]{2}$"},
	"url":       {Format: "iri"},
	"coverUrl":  {Format: "iri"},
	"email":     {Pattern: emailPattern},
	"slug":      {Pattern: validate.SlugPattern},
}

// Patterns of texts and times in answers, and of times in requests; validate.Pattern has those of texts in requests. ECMA-262
// and RE2 read them alike, so they are without \s.
const (
	// momentPattern matches a time in answers: always UTC, and with milliseconds.
	momentPattern = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`
	// sentMomentPattern matches a time in requests: RFC 3339 with any offset. Unlike the format date-time, it does not allow
	// the year 0000 and leap seconds.
	sentMomentPattern = `^(\d{3}[1-9]|\d{2}[1-9]\d|\d[1-9]\d{2}|[1-9]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// phonePattern matches phone numbers in the form of E.164.
	phonePattern = `^\+[1-9]\d+$`
	// emailPattern allows more than the format email, which allows only ASCII letters. It also allows e-mails that were
	// stored under an older rule, such as one with a typographic space. Otherwise a generated client would reject a whole
	// list because of one such e-mail.
	emailPattern = `^[^\x00-\x1F\x7F-\x9F]+@[^\x00-\x1F\x7F-\x9F]+$`
)

var (
	// nullInComment finds whether a field's comment mentions null. Presence in the sense of protobuf does not show that null is
	// allowed, because every message field has presence.
	nullInComment = regexp.MustCompile(`\bnull\b`)
	// defaultInComment finds the default of a parameter in its comment.
	defaultInComment = regexp.MustCompile(`\bdefault (\d+)`)
)

// completeRequests notes in c.bounds the bounds of the fields of all requests. A field of the answer gets the bounds of the
// request's field with the same name.
func (c *completion) completeRequests() error {
	for _, d := range c.methods.all() {
		output := d.Output().FullName()
		if c.bounds[output] == nil {
			c.bounds[output] = map[string]bounds{}
		}
		input := map[string]bounds{}
		c.bounds[d.Input().FullName()] = input
		for _, fd := range inBody(d.Input()) {
			b, err := boundsOf(fd)
			if err != nil {
				return err
			}
			input[fd.JSONName()] = b
			c.bounds[output][fd.JSONName()] = b
		}
	}
	return nil
}

// inBody returns the fields of a request that are in its body or query: all except id, which is in the path, and the update
// mask, which the service makes from the names in the body.
func inBody(d protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	var found []protoreflect.FieldDescriptor
	for i := range d.Fields().Len() {
		if fd := d.Fields().Get(i); fd.Name() != "id" && fd.Name() != "update_mask" {
			found = append(found, fd)
		}
	}
	return found
}

// completeSchemas replaces the plugin's schemas by schemas with plain names. It leaves out the messages of queries, because
// the parameters of their operations describe them. An enum gets a schema only if a request has it. In answers and events
// each field lists the enum's words itself, because later releases may add words.
func (c *completion) completeSchemas() error {
	var bodies, queries, asked ordered[bool]
	for _, d := range c.methods.all() {
		for _, fd := range inBody(d.Input()) {
			if fd.Enum() != nil {
				asked.set(string(fd.Enum().FullName()), true)
			}
		}
		if hasBody(d) {
			bodies.set(string(d.Input().FullName()), true)
		} else {
			queries.set(string(d.Input().FullName()), true)
		}
	}
	known := c.doc.Components.Schemas
	c.doc.Components.Schemas = ordered[*schema]{}
	for _, name := range known.names {
		full := protoreflect.FullName(name)
		if full.Parent() == "google.protobuf" || queries.has(name) {
			continue
		}
		if d, _ := c.files.FindDescriptorByName(full); isEnum(d) && !asked.has(name) {
			continue
		}
		if err := c.addSchema(full, bodies.has(name)); err != nil {
			return err
		}
	}
	return nil
}

func isEnum(d protoreflect.Descriptor) bool {
	_, ok := d.(protoreflect.EnumDescriptor)
	return ok
}

// addSchema adds the schema of a message or an enum to the document. request is true if requests contain it.
func (c *completion) addSchema(name protoreflect.FullName, request bool) error {
	d, err := c.files.FindDescriptorByName(name)
	if err != nil {
		return fmt.Errorf("the plugin's schema %s: %w", name, err)
	}
	var s *schema
	switch d := d.(type) {
	case protoreflect.EnumDescriptor:
		s, err = enumSchema(d)
	case protoreflect.MessageDescriptor:
		if d.IsMapEntry() {
			return nil
		}
		s, err = c.messageSchema(d, request)
	default:
		err = fmt.Errorf("the plugin's schema %s is neither a message nor an enum", name)
	}
	if err != nil {
		return err
	}
	c.doc.Components.Schemas.set(publicName(name), s)
	return nil
}

// enumSchema returns the schema of an enum in requests, which allows only the enum's words.
func enumSchema(d protoreflect.EnumDescriptor) (*schema, error) {
	text, err := comment(d)
	if err != nil {
		return nil, err
	}
	s, err := openEnum(d)
	if err != nil {
		return nil, err
	}
	for _, word := range s.Words {
		s.Enum = append(s.Enum, word)
	}
	s.Words, s.Description = nil, text+"\n"+s.Description
	return s, nil
}

// openEnum returns the schema of an enum in answers. The schema lists the enum's words, but also allows other words, which a
// later release may add. It does not list the word for 0, which is never sent.
func openEnum(d protoreflect.EnumDescriptor) (*schema, error) {
	s := &schema{Type: types{"string"}}
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		if v.Number() == 0 {
			continue
		}
		meaning, err := comment(v)
		if err != nil {
			return nil, err
		}
		s.Words = append(s.Words, string(v.Name()))
		s.Description += fmt.Sprintf("\n- `%s`: %s", v.Name(), meaning)
	}
	return s, nil
}

// messageSchema returns the schema of a message. In an answer every field is required, and further fields are valid, because
// a later release may add some. In a request, further fields are invalid.
func (c *completion) messageSchema(d protoreflect.MessageDescriptor, request bool) (*schema, error) {
	text, err := comment(d)
	if err != nil {
		return nil, err
	}
	s := &schema{Type: types{"object"}, Description: text}
	if request {
		s.AdditionalProperties = false
	}
	bounds := c.bounds[d.FullName()]
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		name := fd.JSONName()
		b, known := bounds[name]
		if request && !known {
			continue
		}
		property, err := c.property(fd, request)
		if err != nil {
			return nil, err
		}
		property.setBounds(b)
		if request && b.pattern != "" {
			property.Format, property.Pattern = "", b.pattern
		}
		nullable := b.nullable
		if !request {
			nullable = fd.HasPresence() && (fd.Message() == nil || nullInComment.MatchString(property.Description))
			if fd.IsList() {
				property.MaxItems = bounds["pageSize"].maximum
			}
		}
		if nullable {
			property = property.orNull()
		}
		s.Properties.set(name, property)
		if !request || b.required {
			s.Required = append(s.Required, name)
		}
	}
	return s, nil
}

// property returns the schema of a field with its comment, but without its bounds.
func (c *completion) property(fd protoreflect.FieldDescriptor, request bool) (*schema, error) {
	text, err := comment(fd)
	if err != nil {
		return nil, err
	}
	element := fd
	if fd.IsMap() {
		element = fd.MapValue()
	}
	s, err := valueSchema(element, request)
	if err != nil {
		return nil, err
	}
	switch {
	case fd.IsMap():
		s = &schema{Type: types{"object"}, AdditionalProperties: s}
	case fd.IsList():
		s = &schema{Type: types{"array"}, Items: s}
	case !request && strings.Contains(text, "E.164"):
		s.Pattern = phonePattern
	}
	if s.Words != nil {
		text += "\n" + s.Description
	}
	s.Description = text
	return s, nil
}

// valueSchema returns the schema of one value of a field, which may be a list.
func valueSchema(fd protoreflect.FieldDescriptor, request bool) (*schema, error) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		s := formats[fd.JSONName()]
		s.Type = types{"string"}
		return &s, nil
	case protoreflect.BoolKind:
		return &schema{Type: types{"boolean"}}, nil
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		s := &schema{Type: types{"integer"}, Format: fd.Kind().String()}
		if !request {
			s.Minimum = new(int64(0)) // amounts and counts in answers are never negative
		}
		return s, nil
	case protoreflect.DoubleKind:
		return &schema{Type: types{"number"}, Format: "double"}, nil
	case protoreflect.EnumKind:
		if !request {
			return openEnum(fd.Enum())
		}
		return reference(publicName(fd.Enum().FullName())), nil
	case protoreflect.MessageKind:
		if fd.Message().FullName() != "google.protobuf.Timestamp" {
			return reference(publicName(fd.Message().FullName())), nil
		}
		s := &schema{Type: types{"string"}, Format: "date-time", Pattern: momentPattern}
		if request {
			s.Pattern = sentMomentPattern
		}
		return s, nil
	default:
		return nil, fmt.Errorf("%s is of kind %s, which the document has no type for", fd.FullName(), fd.Kind())
	}
}

// setBounds adds the bounds to the schema of a value.
func (s *schema) setBounds(b bounds) {
	if s.Pattern != phonePattern { // requests have the bounds, and a phone in a request may be longer than in an answer
		s.MinLength, s.MaxLength = b.minLength, b.maxLength
	}
	if b.minimum != nil {
		s.Minimum = b.minimum
	}
	s.Maximum = b.maximum
}

// orNull returns a schema that allows null and what s allows.
func (s *schema) orNull() *schema {
	if s.Ref == "" {
		s.Type = append(s.Type, "null")
		return s
	}
	return &schema{Description: s.Description, OneOf: []*schema{{Ref: s.Ref}, {Type: types{"null"}}}}
}

// queryParameter completes the parameter p of a query, which the field fd describes.
func (c *completion) queryParameter(p *parameter, fd protoreflect.FieldDescriptor) error {
	s, err := c.property(fd, true)
	if err != nil {
		return err
	}
	b := c.bounds[fd.ContainingMessage().FullName()][fd.JSONName()]
	s.setBounds(b)
	if b.pattern != "" {
		s.Pattern = b.pattern
	}
	if found := defaultInComment.FindStringSubmatch(s.Description); found != nil {
		if s.Default, err = strconv.Atoi(found[1]); err != nil {
			return err
		}
	}
	p.Description, s.Description = s.Description, ""
	p.Schema = s
	if s.Format == "date-time" {
		p.Example = c.exampleQuery(fd.JSONName())
	}
	return nil
}

// exampleQuery returns a value of the query parameter from a recorded request that succeeded, as an example; nil if there is
// none.
func (c *completion) exampleQuery(name string) any {
	for _, g := range c.goldens {
		if g.status < 300 && g.query.Has(name) {
			return g.query.Get(name)
		}
	}
	return nil
}
