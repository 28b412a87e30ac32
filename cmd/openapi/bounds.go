package main

import (
	"fmt"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	texts "go.storefront.example/server/validate"
)

// bounds are the limits of the values of a request's field. nil and "" mean no limit.
type bounds struct {
	required, nullable   bool
	minLength, maxLength *int
	minimum, maximum     *int64
	pattern              string
}

// boundsOf reads the bounds of a request's field from the options in its proto. A field with presence can be null unless it
// is required. A field of an update can be null only if its comment mentions null.
func boundsOf(fd protoreflect.FieldDescriptor) (bounds, error) {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	b := bounds{required: rules.GetRequired(), nullable: fd.HasPresence() && !rules.GetRequired()}
	if fd.ContainingMessage().Fields().ByName("update_mask") != nil {
		text, err := comment(fd)
		if err != nil {
			return b, err
		}
		b.nullable = b.nullable && nullInComment.MatchString(text)
	}
	switch rule := rules.GetType().(type) {
	case nil, *validate.FieldRules_Enum:
	case *validate.FieldRules_String_:
		b.minLength, b.maxLength = length(rule.String_.MinLen), length(rule.String_.MaxLen)
		form, _ := proto.GetExtension(rule.String_, storefrontv1.E_Form).(storefrontv1.TextForm)
		b.pattern = texts.Pattern(form, rule.String_.GetMinLen() > 0)
	case *validate.FieldRules_Int32:
		if rule.Int32.HasGte() {
			b.minimum = new(int64(rule.Int32.GetGte()))
		}
		if rule.Int32.HasLte() {
			b.maximum = new(int64(rule.Int32.GetLte()))
		}
	case *validate.FieldRules_Int64:
		if rule.Int64.HasGte() {
			b.minimum = new(rule.Int64.GetGte())
		}
		if rule.Int64.HasLte() {
			b.maximum = new(rule.Int64.GetLte())
		}
	default:
		return b, fmt.Errorf("%s declares bounds that the document has no words for: %v", fd.FullName(), rules)
	}
	return b, nil
}

func length(n *uint64) *int {
	if n == nil {
		return nil
	}
	return new(int(*n)) //nolint:gosec // Bounds of lengths are small.
}
