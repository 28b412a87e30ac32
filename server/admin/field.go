package admin

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/server/validate"
)

// problems collects the refused fields of a request.
type problems struct{ validate.Problems }

// enum returns the enum's value with this name, or the zero value.
func enum[E interface {
	~int32
	protoreflect.Enum
}](name string) E {
	var e E
	if v := e.Descriptor().Values().ByName(protoreflect.Name(name)); v != nil {
		return E(v.Number())
	}
	return e
}
