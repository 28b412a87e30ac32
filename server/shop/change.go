package shop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/validate"
)

// Named has the fields that a request names, with their new values.
type Named[R any] struct {
	table  resource.Fields[R]
	named  map[string]bool
	Values R // the values of the named fields, in stored form
}

// Has reports whether the request names a field.
func (n *Named[R]) Has(name string) bool { return n.named[name] }

// Applied returns a copy of the row with the values of the named fields.
func (n *Named[R]) Applied(row *R) R {
	next := *row
	for _, f := range n.table {
		if n.named[f.Name] {
			f.Copy(&next, &n.Values)
		}
	}
	return next
}

type updateRequest interface {
	proto.Message
	GetUpdateMask() *fieldmaskpb.FieldMask
}

// NamedOf reads the fields that requests name, and converts their values to the stored form. It refuses null for a field that
// needs a value, and every value, also of fields that the table lacks, out of the bounds that the proto declares. country is
// the region of phone numbers without a country code.
//
// An update names the fields of its mask or, without one, those that are present. A creation also names the required fields,
// and those for which the proto cannot tell whether they are present.
func NamedOf[R any](p *validate.Problems, table resource.Fields[R], country string, requests ...proto.Message) Named[R] {
	n := Named[R]{table: table, named: map[string]bool{}}
	for _, in := range requests {
		n.read(p, in, country)
	}
	return n
}

func (n *Named[R]) read(p *validate.Problems, in proto.Message, country string) {
	m := in.ProtoReflect()
	var named func(protoreflect.FieldDescriptor) bool
	if u, ok := in.(updateRequest); ok {
		named = namedByUpdate(p, u)
	} else {
		named = func(fd protoreflect.FieldDescriptor) bool { return namedByCreation(m, fd) }
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		f, settable := n.table.Lookup(string(fd.Name()))
		if !settable || !named(fd) {
			continue
		}
		n.named[f.Name] = true
		if absent(m, fd) && !f.Nullable() {
			p.Invalid(fd.JSONName(), "cannot be null")
		}
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		if f, settable := n.table.Lookup(string(fd.Name())); settable && named(fd) && !absent(m, fd) {
			f.Set(&n.Values, p.Stored(fd, m.Get(fd), f.Nullable(), country))
		}
	}
	p.Declared(in, func(fd protoreflect.FieldDescriptor) bool {
		_, settable := n.table.Lookup(string(fd.Name()))
		return settable
	})
}

// namedByUpdate refuses a mask with fields that cannot be changed.
func namedByUpdate(p *validate.Problems, in updateRequest) func(protoreflect.FieldDescriptor) bool {
	m, mask := in.ProtoReflect(), in.GetUpdateMask()
	if mask == nil {
		return m.Has
	}
	for _, path := range mask.GetPaths() {
		f := m.Descriptor().Fields().ByName(protoreflect.Name(path))
		if f == nil || path == "id" || path == "update_mask" {
			p.Invalid("updateMask", "names "+path+", which cannot be changed")
		}
	}
	return func(fd protoreflect.FieldDescriptor) bool {
		return slices.Contains(mask.GetPaths(), string(fd.Name()))
	}
}

// namedByCreation does not name an enum without a value, which gets its default.
func namedByCreation(m protoreflect.Message, fd protoreflect.FieldDescriptor) bool {
	switch {
	case validate.BoundOf(fd).Required && fd.HasPresence():
		return true
	case fd.Kind() == protoreflect.EnumKind:
		return m.Has(fd) && !absent(m, fd)
	case fd.HasPresence(), fd.IsList(), fd.IsMap():
		return m.Has(fd)
	}
	return true
}

// absent reports whether a field is null or left out in JSON.
func absent(m protoreflect.Message, fd protoreflect.FieldDescriptor) bool {
	if fd.IsList() {
		return false
	}
	return fd.HasPresence() && !m.Has(fd) || fd.Kind() == protoreflect.EnumKind && m.Get(fd).Enum() == 0
}

// Save saves the fields in which next differs from row, with the values that update, the update of row, sets already. If no
// field differs, it saves nothing.
func Save[R any, M ent.Mutation, U interface {
	Mutation() M
	Save(ctx context.Context) (*R, error)
}](c *hook.Change, table resource.Fields[R], row, next *R, update U) (*R, error) {
	changed, err := table.Update(update.Mutation(), row, next)
	if err != nil || !changed {
		return row, err
	}
	row, err = update.Save(c)
	if err != nil {
		return nil, fmt.Errorf("update: %w", err)
	}
	return row, nil
}

// differ reports whether two values that may be null are different.
func differ[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a != b
	}
	return *a != *b
}

// timesDiffer reports whether two times that may be null are different.
func timesDiffer(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !a.Equal(*b)
}
