package rpc

import (
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
)

// defaultLimit is how many rows a list has unless the request says otherwise.
const defaultLimit = 50

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

// limit is how many rows to list.
func (f *fields) limit(n *int32) int {
	switch {
	case n == nil:
		return defaultLimit
	case *n < 1:
		f.refuse("limit", "must be a whole number from 1")
	}
	return int(*n)
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

// names tells whether the update names a field.
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

// nullable is value for a field that may be null: the inner pointer is its value.
func nullable[T any](c *changes, path string, v *T) **T {
	if !c.names(path) {
		return nil
	}
	return &v
}

// word is value for an enum, whose value is told by its name.
func word[W ~string, E protoreflect.Enum](c *changes, path string, e *E) *W {
	e = value(c, path, e)
	if e == nil {
		return nil
	}
	name := c.field(path).JSONName()
	if (*e).Number() == 0 {
		c.refuse(name, "cannot be null")
	}
	c.known(name, *e)
	return spelt[W](e)
}

// spelt is the name of an enum's value; nil for nil.
func spelt[W ~string, E protoreflect.Enum](e *E) *W {
	if e == nil {
		return nil
	}
	value := (*e).Descriptor().Values().ByNumber((*e).Number())
	if value == nil {
		return nil
	}
	w := W(value.Name())
	return &w
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

// named is a field of an update that is sent, and whether the update names it.
type named struct {
	path string
	is   bool
}

// mask is the mask of an update that is sent.
func mask(all ...named) *fieldmaskpb.FieldMask {
	m := &fieldmaskpb.FieldMask{}
	for _, n := range all {
		if n.is {
			m.Paths = append(m.Paths, n.path)
		}
	}
	return m
}

// limitOf is how many rows to list, as a request says it.
func limitOf(n int) *int32 {
	limit := int32(min(n, math.MaxInt32)) //nolint:gosec // No more than fit.
	return &limit
}

// inner is the value of a change that may be null.
func inner[T any](v **T) *T {
	if v == nil {
		return nil
	}
	return *v
}

// moment is a moment that may be absent; nil stays nil.
func moment(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}
