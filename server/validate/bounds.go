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

// Bound is what a request's proto declares of a field (protovalidate's options): the least and the
// most of a number, or the least and the most characters of a text after trimming. Which characters a
// text may hold is declared too, for callers; text refuses the others whatever is declared.
type Bound struct {
	Required    bool
	Least, Most int64
}

var unbounded = Bound{Least: math.MinInt64, Most: math.MaxInt64}

// bounds are all declared bounds, read once.
var bounds = declaredBounds(storefrontv1.File_storefront_v1_product_proto.Package(), adminv1.File_storefront_admin_v1_product_proto.Package())

// BoundOf returns what a field declares; a field without bounds is unbounded.
func BoundOf(fd protoreflect.FieldDescriptor) Bound {
	if b, ok := bounds[fd.FullName()]; ok {
		return b
	}
	return unbounded
}

// MustBound returns what a field declares. It panics, at the start, when that is no upper Bound.
func MustBound(field protoreflect.FullName) Bound {
	b, ok := bounds[field]
	if !ok || b.Most == math.MaxInt64 {
		panic("validate: " + field + " declares no upper Bound")
	}
	return b
}

// Most returns the upper Bound that a field declares.
func Most(field protoreflect.FullName) int { return int(MustBound(field).Most) }

// declaredBounds reads the bounds in packages. It panics on an option that nothing here evaluates.
func declaredBounds(packages ...protoreflect.FullName) map[protoreflect.FullName]Bound {
	found := map[protoreflect.FullName]Bound{}
	for _, name := range packages {
		protoregistry.GlobalFiles.RangeFilesByPackage(name, func(file protoreflect.FileDescriptor) bool {
			for i := range file.Messages().Len() {
				fields := file.Messages().Get(i).Fields()
				for j := range fields.Len() {
					if fd := fields.Get(j); proto.HasExtension(fd.Options(), validate.E_Field) {
						found[fd.FullName()] = declared(fd)
					}
				}
			}
			return true
		})
	}
	return found
}

func declared(fd protoreflect.FieldDescriptor) Bound {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	b := unbounded
	b.Required = rules.GetRequired()
	switch of := rules.GetType().(type) {
	case nil, *validate.FieldRules_Enum:
	case *validate.FieldRules_String_:
		b.Least = int64(of.String_.GetMinLen())
		if of.String_.MaxLen != nil {
			b.Most = int64(of.String_.GetMaxLen())
		}
	case *validate.FieldRules_Int32:
		if of.Int32.HasGte() {
			b.Least = int64(of.Int32.GetGte())
		}
		if of.Int32.HasLte() {
			b.Most = int64(of.Int32.GetLte())
		}
	case *validate.FieldRules_Int64:
		if of.Int64.HasGte() {
			b.Least = of.Int64.GetGte()
		}
		if of.Int64.HasLte() {
			b.Most = of.Int64.GetLte()
		}
	case *validate.FieldRules_Double:
		b.Least, b.Most = int64(of.Double.GetGte()), int64(of.Double.GetLte())
	default:
		panic(fmt.Sprintf("validate: %s declares bounds that no rule evaluates: %v", fd.FullName(), rules))
	}
	return b
}
