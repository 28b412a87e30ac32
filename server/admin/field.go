package admin

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

// fields are the fields of a request that cannot be used.
type fields []apijson.Field

func (f *fields) refuse(name, message string) {
	*f = append(*f, apijson.Field{Name: name, Message: message})
}

// err refuses with validation_failed what was refused.
func (f *fields) err() error {
	if len(*f) == 0 {
		return nil
	}
	return apierr.Invalid("The request has fields that cannot be used; details.fields lists them.", *f...)
}

// known refuses an enum number that has no meaning; only binary requests can carry one.
func (f *fields) known(name string, e protoreflect.Enum) {
	if e.Number() != 0 && e.Descriptor().Values().ByNumber(e.Number()) == nil {
		f.refuse(name, "has an unknown value")
	}
}

// enum is the value of an enum with this name; the zero value when there is none.
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
