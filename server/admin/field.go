package admin

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/server/validate"
)

type problems struct{ validate.Problems }

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
