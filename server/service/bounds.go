package service

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

// bound is what a request's proto declares of a field (protovalidate's options): the least and the
// most of a number, or the least and the most characters of a text after trimming. Which characters a
// text may hold is declared too, for callers; text refuses the others whatever is declared.
type bound struct {
	required    bool
	least, most int64
}

var unbounded = bound{least: math.MinInt64, most: math.MaxInt64}

// bounds are all declared bounds, read once.
var bounds = declaredBounds(storefrontv1.File_storefront_v1_product_proto.Package(), adminv1.File_storefront_admin_v1_product_proto.Package())

// boundOf returns what a field declares; a field without bounds is unbounded.
func boundOf(fd protoreflect.FieldDescriptor) bound {
	if b, ok := bounds[fd.FullName()]; ok {
		return b
	}
	return unbounded
}

// mustBound returns what a field declares. It panics, at the start, when that is no upper bound.
func mustBound(field protoreflect.FullName) bound {
	b, ok := bounds[field]
	if !ok || b.most == math.MaxInt64 {
		panic("service: " + field + " declares no upper bound")
	}
	return b
}

// most returns the upper bound that a field declares.
func most(field protoreflect.FullName) int { return int(mustBound(field).most) }

// declaredBounds reads the bounds in packages. It panics on an option that nothing here evaluates.
func declaredBounds(packages ...protoreflect.FullName) map[protoreflect.FullName]bound {
	found := map[protoreflect.FullName]bound{}
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

func declared(fd protoreflect.FieldDescriptor) bound {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	b := unbounded
	b.required = rules.GetRequired()
	switch of := rules.GetType().(type) {
	case nil, *validate.FieldRules_Enum:
	case *validate.FieldRules_String_:
		b.least = int64(of.String_.GetMinLen())
		if of.String_.MaxLen != nil {
			b.most = int64(of.String_.GetMaxLen())
		}
	case *validate.FieldRules_Int32:
		if of.Int32.HasGte() {
			b.least = int64(of.Int32.GetGte())
		}
		if of.Int32.HasLte() {
			b.most = int64(of.Int32.GetLte())
		}
	case *validate.FieldRules_Int64:
		if of.Int64.HasGte() {
			b.least = of.Int64.GetGte()
		}
		if of.Int64.HasLte() {
			b.most = of.Int64.GetLte()
		}
	case *validate.FieldRules_Double:
		b.least, b.most = int64(of.Double.GetGte()), int64(of.Double.GetLte())
	default:
		panic(fmt.Sprintf("service: %s declares bounds that no rule evaluates: %v", fd.FullName(), rules))
	}
	return b
}
