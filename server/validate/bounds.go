package validate

import (
	"fmt"
	"math"
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Bound is what the proto of a request declares for a field, as options of protovalidate: the range of a number, or the form
// of a text and the range of its length in characters.
type Bound struct {
	Required bool
	Min, Max int64
	Form     storefrontv1.TextForm
}

var unbounded = Bound{Min: math.MinInt64, Max: math.MaxInt64}

// declared has the bounds of all fields by the field's name, and the fields with bounds by the name of their message.
var declared = readBounds(storefrontv1.File_storefront_v1_product_proto.Package(),
	adminv1.File_storefront_admin_v1_product_proto.Package())

type bounds struct {
	of     map[protoreflect.FullName]Bound
	fields map[protoreflect.FullName][]protoreflect.FieldDescriptor
}

// BoundOf returns the Bound that a field declares. If it declares none, the Bound has no limits.
func BoundOf(fd protoreflect.FieldDescriptor) Bound {
	if b, ok := declared.of[fd.FullName()]; ok {
		return b
	}
	return unbounded
}

// MustBound returns the Bound that a field declares. It panics if the field declares no maximum, so that a program with
// a package variable of it cannot start.
func MustBound(field protoreflect.FullName) Bound {
	b, ok := declared.of[field]
	if !ok || b.Max == math.MaxInt64 {
		panic("validate: " + field + " declares no maximum")
	}
	return b
}

// MaxOf returns the maximum that a field declares. It panics as MustBound does.
func MaxOf(field protoreflect.FullName) int { return int(MustBound(field).Max) }

// readBounds reads the bounds that the fields in these packages declare. It panics if a field has an option that this
// package does not use.
func readBounds(packages ...protoreflect.FullName) bounds {
	found := bounds{map[protoreflect.FullName]Bound{}, map[protoreflect.FullName][]protoreflect.FieldDescriptor{}}
	for _, name := range packages {
		protoregistry.GlobalFiles.RangeFilesByPackage(name, func(file protoreflect.FileDescriptor) bool {
			found.read(file.Messages())
			return true
		})
	}
	return found
}

func (s bounds) read(messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		m := messages.Get(i)
		s.read(m.Messages())
		var numbers, texts []protoreflect.FieldDescriptor
		for j := range m.Fields().Len() {
			switch fd := m.Fields().Get(j); {
			case !proto.HasExtension(fd.Options(), validate.E_Field):
			case fd.Kind() == protoreflect.StringKind:
				texts = append(texts, fd)
				s.of[fd.FullName()] = declaredBound(fd)
			default:
				numbers = append(numbers, fd)
				s.of[fd.FullName()] = declaredBound(fd)
			}
		}
		s.fields[m.FullName()] = slices.Concat(numbers, texts)
	}
}

func declaredBound(fd protoreflect.FieldDescriptor) Bound {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	b := unbounded
	b.Required = rules.GetRequired()
	switch rule := rules.GetType().(type) {
	case nil, *validate.FieldRules_Enum:
	case *validate.FieldRules_String_:
		if rule.String_.Pattern != nil {
			panic(fmt.Sprintf("validate: %s declares a pattern: give it a form of storefront.v1.TextForm", fd.FullName()))
		}
		b.Min = int64(rule.String_.GetMinLen())
		if rule.String_.MaxLen != nil {
			b.Max = int64(rule.String_.GetMaxLen())
		}
		b.Form, _ = proto.GetExtension(rule.String_, storefrontv1.E_Form).(storefrontv1.TextForm)
	case *validate.FieldRules_Int32:
		if rule.Int32.HasGte() {
			b.Min = int64(rule.Int32.GetGte())
		}
		if rule.Int32.HasLte() {
			b.Max = int64(rule.Int32.GetLte())
		}
	case *validate.FieldRules_Int64:
		if rule.Int64.HasGte() {
			b.Min = rule.Int64.GetGte()
		}
		if rule.Int64.HasLte() {
			b.Max = rule.Int64.GetLte()
		}
	case *validate.FieldRules_Double:
		b.Min, b.Max = int64(rule.Double.GetGte()), int64(rule.Double.GetLte())
	default:
		panic(fmt.Sprintf("validate: %s declares bounds that no rule evaluates: %v", fd.FullName(), rules))
	}
	return b
}
