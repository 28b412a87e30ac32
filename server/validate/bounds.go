package validate

import (
	"fmt"
	"math"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Bound is the range that the proto of a request declares for a field, as options of protovalidate: for a number, or for the
// length of a text in characters after trimming. The protos also declare which characters a text may have, but only for
// readers: the service applies the rule in Problems.Text instead.
type Bound struct {
	Required bool
	Min, Max int64
}

var unbounded = Bound{Min: math.MinInt64, Max: math.MaxInt64}

// bounds has the declared bounds of all fields, by the field's name.
var bounds = declaredBounds(storefrontv1.File_storefront_v1_product_proto.Package(),
	adminv1.File_storefront_admin_v1_product_proto.Package())

// BoundOf returns the Bound that a field declares. If it declares none, the Bound has no limits.
func BoundOf(fd protoreflect.FieldDescriptor) Bound {
	if b, ok := bounds[fd.FullName()]; ok {
		return b
	}
	return unbounded
}

// MustBound returns the Bound that a field declares. It panics if the field declares no maximum. It is called for package
// variables, so the program cannot start if a declaration is missing.
func MustBound(field protoreflect.FullName) Bound {
	b, ok := bounds[field]
	if !ok || b.Max == math.MaxInt64 {
		panic("validate: " + field + " declares no maximum")
	}
	return b
}

// MaxOf returns the maximum that a field declares. It panics as MustBound does.
func MaxOf(field protoreflect.FullName) int { return int(MustBound(field).Max) }

// declaredBounds reads the bounds that the fields in these packages declare. It panics if a field has an option that this
// package does not use.
func declaredBounds(packages ...protoreflect.FullName) map[protoreflect.FullName]Bound {
	found := map[protoreflect.FullName]Bound{}
	for _, name := range packages {
		protoregistry.GlobalFiles.RangeFilesByPackage(name, func(file protoreflect.FileDescriptor) bool {
			for i := range file.Messages().Len() {
				fields := file.Messages().Get(i).Fields()
				for j := range fields.Len() {
					if fd := fields.Get(j); proto.HasExtension(fd.Options(), validate.E_Field) {
						found[fd.FullName()] = declaredBound(fd)
					}
				}
			}
			return true
		})
	}
	return found
}

func declaredBound(fd protoreflect.FieldDescriptor) Bound {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	b := unbounded
	b.Required = rules.GetRequired()
	switch rule := rules.GetType().(type) {
	case nil, *validate.FieldRules_Enum:
	case *validate.FieldRules_String_:
		b.Min = int64(rule.String_.GetMinLen())
		if rule.String_.MaxLen != nil {
			b.Max = int64(rule.String_.GetMaxLen())
		}
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
