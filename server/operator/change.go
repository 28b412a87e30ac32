package operator

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

// fields are the fields of a request that cannot be used.
type fields []wire.Field

func (f *fields) refuse(name, message string) {
	*f = append(*f, wire.Field{Name: name, Message: message})
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

// update is a request that changes what it names.
type update interface {
	proto.Message
	GetUpdateMask() *fieldmaskpb.FieldMask
}

// changes reads an update: the fields that its mask names or, without one, those that are present.
type changes struct {
	fields
	message protoreflect.Message
	mask    *fieldmaskpb.FieldMask
}

// changesOf reads an update of the resource that its field key names; that field may be in the mask,
// where JSON puts every name that is present, and changes nothing.
func changesOf(in update, key string) *changes {
	c := &changes{message: in.ProtoReflect(), mask: in.GetUpdateMask()}
	for _, path := range c.mask.GetPaths() {
		if path != key && (c.field(path) == nil || path == "update_mask") {
			c.refuse("updateMask", "names "+path+", which cannot be changed")
		}
	}
	return c
}

func (c *changes) field(path string) protoreflect.FieldDescriptor {
	return c.message.Descriptor().Fields().ByName(protoreflect.Name(path))
}

// names reports whether the update names a field.
func (c *changes) names(path string) bool {
	if c.mask == nil {
		return c.message.Has(c.field(path))
	}
	return slices.Contains(c.mask.GetPaths(), path)
}

// value is the value of a field that the update names, nil when it leaves the field alone; a named
// field without a value is refused.
func value[T any](c *changes, path string, v *T) *T {
	if !c.names(path) {
		return nil
	}
	if v == nil {
		c.refuse(c.field(path).JSONName(), "cannot be null")
	}
	return v
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
