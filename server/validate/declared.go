package validate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Declared refuses the fields of a request that break the bounds of their proto, texts last. It leaves out the fields that skip
// reports, which may be nil, and the forms that Stored alone reads.
func (p *Problems) Declared(in proto.Message, skip func(protoreflect.FieldDescriptor) bool) {
	m := in.ProtoReflect()
	for _, fd := range declared.fields[m.Descriptor().FullName()] {
		if skip != nil && skip(fd) {
			continue
		}
		name, b := fd.JSONName(), BoundOf(fd)
		switch {
		case fd.HasPresence() && !m.Has(fd):
			if b.Required {
				p.Invalid(name, "is required")
			}
		case fd.Kind() == protoreflect.EnumKind:
			if n := m.Get(fd).Enum(); n == 0 && b.Required {
				p.Invalid(name, "is required")
			} else if fd.Enum().Values().ByNumber(n) == nil {
				p.Invalid(name, unknownValue)
			}
		case fd.Kind() != protoreflect.StringKind:
			p.number(name, fd, m.Get(fd), "")
		case b.Required && m.Get(fd).String() == "":
			p.Invalid(name, "is required")
		case slices.Contains([]storefrontv1.TextForm{storefrontv1.TextForm_TEXT_FORM_UNSPECIFIED, storefrontv1.TextForm_LINE,
			storefrontv1.TextForm_SEARCH, storefrontv1.TextForm_SLUG}, b.Form):
			p.text(name, m.Get(fd).String(), b)
		}
	}
}

// unknownValue refuses a number that is no value of an enum. Only requests in the binary format can have such a number.
const unknownValue = "has an unknown value"

// Stored converts the value of a request's field to the form in which it is stored. It refuses a value that breaks the bounds
// of the field's proto, and returns nil if null is stored, for example for an empty text in a field that may be null. country
// is the store's country, for the phone numbers of a store.
func (p *Problems) Stored(fd protoreflect.FieldDescriptor, v protoreflect.Value, nullable bool, country string) any {
	name := fd.JSONName()
	switch {
	case fd.IsMap():
		texts := map[string]string{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			texts[k.String()] = v.String()
			return true
		})
		return texts
	case fd.IsList():
		texts := []string{}
		for i := range v.List().Len() {
			text := v.List().Get(i).String()
			if fd.Kind() == protoreflect.EnumKind {
				text = p.enumName(fd, v.List().Get(i).Enum())
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return texts
	}
	switch fd.Kind() {
	case protoreflect.StringKind:
		text := p.storedText(name, v.String(), BoundOf(fd), country)
		if text == nil || nullable && *text == "" {
			return nil
		}
		return *text
	case protoreflect.EnumKind:
		return p.enumName(fd, v.Enum())
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.DoubleKind:
		orNull := ""
		if nullable && fd.Kind() == protoreflect.Int32Kind {
			orNull = ", or null"
		}
		p.number(name, fd, v, orNull)
	case protoreflect.MessageKind:
		at, _ := v.Message().Interface().(*timestamppb.Timestamp)
		if t := p.Time(name, at); t != nil {
			return *t
		}
		return nil
	}
	return v.Interface()
}

// number refuses a number that is out of the bounds of its field. end is the end of the message.
func (p *Problems) number(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value, end string) {
	b := BoundOf(fd)
	switch {
	case fd.Kind() == protoreflect.DoubleKind:
		p.Percentage(name, v.Float(), b)
	case strings.HasSuffix(string(fd.Name()), "amount"):
		n := v.Int()
		p.Amount(name, &n, b)
	case v.Int() >= b.Min && v.Int() <= b.Max:
	case b.Max == math.MaxInt64:
		p.Invalid(name, fmt.Sprintf("must be a whole number from %d", b.Min))
	default:
		p.Invalid(name, fmt.Sprintf("must be a whole number from %d to %d%s", b.Min, b.Max, end))
	}
}

// enumName returns the name of the enum's value n. It refuses 0, and numbers that are no value of the enum.
func (p *Problems) enumName(fd protoreflect.FieldDescriptor, n protoreflect.EnumNumber) string {
	value := fd.Enum().Values().ByNumber(n)
	if value == nil || n == 0 {
		p.Invalid(fd.JSONName(), unknownValue)
		return ""
	}
	return string(value.Name())
}

// storedText converts a text to its stored form. It returns nil for an e-mail address or a phone number that it refuses, and
// for an empty address.
func (p *Problems) storedText(name, value string, b Bound, country string) *string {
	switch b.Form {
	case storefrontv1.TextForm_UNCHECKED:
	case storefrontv1.TextForm_EMAIL:
		return p.Email(name, value)
	case storefrontv1.TextForm_PHONE:
		if value != "" || b.Min > 0 {
			return p.Phone(name, value, country)
		}
	case storefrontv1.TextForm_CONTACT:
		value = p.Contact(name, value)
	case storefrontv1.TextForm_WEB_ADDRESS:
		address := p.URL(name, &value)
		if address == nil && b.Min > 0 {
			p.Invalid(name, "must be an http or https address")
		}
		return address
	default:
		value = p.text(name, value, b)
	}
	return &value
}

// text trims and checks a text of a form that needs no other value of its store.
func (p *Problems) text(name, value string, b Bound) string {
	switch b.Form {
	case storefrontv1.TextForm_SLUG:
		return p.Slug(name, value, int(b.Max))
	case storefrontv1.TextForm_LINE:
		value = p.Line(name, value, int(b.Max))
	case storefrontv1.TextForm_SEARCH:
		if int64(utf8.RuneCountInString(value)) > b.Max {
			p.Invalid(name, tooLong(b.Max))
			return value
		}
		value = p.Text(name, value, int(b.Max))
	default:
		value = p.Text(name, value, int(b.Max))
	}
	if value == "" && b.Min > 0 {
		p.Invalid(name, fmt.Sprintf("must be %d to %d characters long", b.Min, b.Max))
	}
	return value
}
