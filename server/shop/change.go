package shop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/validate"
)

// An update has three steps: ChangeOf checks the request; ChangeRow locks the row that the request names and finds the row's
// new values; Save saves the fields that differ.

// Change has the fields that a request sets in a resource, with their new values.
type Change[R any] struct {
	table  resource.Fields[R]
	named  map[string]bool
	Values R // the values of the named fields, in stored form
}

// Has reports whether the change names a field.
func (c *Change[R]) Has(name string) bool { return c.named[name] }

// Add adds the fields that another change names.
func (c *Change[R]) Add(other Change[R]) {
	for _, f := range c.table {
		if other.named[f.Name] {
			c.named[f.Name] = true
			f.Copy(&c.Values, &other.Values)
		}
	}
}

// Applied returns a copy of the row with the values of the change.
func (c *Change[R]) Applied(row *R) R {
	next := *row
	for _, f := range c.table {
		if c.named[f.Name] {
			f.Copy(&next, &c.Values)
		}
	}
	return next
}

// updateRequest has the methods of every update request.
type updateRequest interface {
	proto.Message
	GetUpdateMask() *fieldmaskpb.FieldMask
}

// ChangeOf reads the fields that a request names, and converts their values to the stored form. It refuses null for a field
// that needs a value, and every value, also of fields that the table lacks, out of the bounds that the request's proto declares.
// country is the store's country: a phone number without a country code gets the code of this country.
//
// An update names the fields of its mask; without a mask it names the fields that are present. A creation names the fields
// that are present, the required ones, and those for which the proto cannot tell whether they are present.
func ChangeOf[R any](p *validate.Problems, table resource.Fields[R], in proto.Message, country string) Change[R] {
	c := Change[R]{table: table, named: map[string]bool{}}
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
		f, settable := table.Lookup(string(fd.Name()))
		if !settable || !named(fd) {
			continue
		}
		c.named[f.Name] = true
		if absent(m, fd) && !f.Nullable() {
			p.Invalid(fd.JSONName(), "cannot be null")
		}
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		if f, _ := table.Lookup(string(fd.Name())); c.named[f.Name] && !absent(m, fd) {
			f.Set(&c.Values, p.Stored(fd, m.Get(fd), f.Nullable(), country))
		}
	}
	p.Declared(in, func(fd protoreflect.FieldDescriptor) bool {
		_, settable := table.Lookup(string(fd.Name()))
		return settable
	})
	return c
}

// namedByUpdate returns a function that reports which fields an update names. It refuses a mask with fields that cannot be
// changed.
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

// namedByCreation reports whether a creation names a field. An enum without a value is not named and gets its default.
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

// absent reports whether a request has no value for a field. In JSON such a field is null or left out.
func absent(m protoreflect.Message, fd protoreflect.FieldDescriptor) bool {
	if fd.IsList() {
		return false
	}
	return fd.HasPresence() && !m.Has(fd) || fd.Kind() == protoreflect.EnumKind && m.Get(fd).Enum() == 0
}

// ChangeRow calls lock, which locks and returns the row with the id in text, and then change, which saves the changed row and
// returns it. Both run in one transaction. If text is no id, ChangeRow returns the error of notFound.
func ChangeRow[R any](
	ctx context.Context, d *db.DB, text string, notFound func() error,
	lock func(context.Context, *ent.Tx, tenant.Store, uuid.UUID) (*R, error),
	change func(ctx context.Context, tx *ent.Tx, t tenant.Store, row *R) (*R, error),
) (row *R, t tenant.Store, err error) {
	t, id, err := validate.StoreAndID(ctx, text, notFound)
	if err != nil {
		return nil, t, err
	}
	err = hook.Change(ctx, d, func(ctx context.Context, tx *ent.Tx) error {
		if row, err = lock(ctx, tx, t, id); err != nil {
			return err
		}
		row, err = change(ctx, tx, t, row)
		return err
	})
	return row, t, err
}

// Save saves the fields in which next differs from row, and also the values that update sets already. If no field differs,
// it saves nothing.
func Save[R any](
	ctx context.Context, table resource.Fields[R], row, next *R, m ent.Mutation, update interface {
		Save(ctx context.Context) (*R, error)
	},
) (*R, error) {
	changed, err := table.Update(m, row, next)
	if err != nil || !changed {
		return row, err
	}
	row, err = update.Save(ctx)
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
