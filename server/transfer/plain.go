package transfer

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/validate"
)

// A plain field has the same form in its message and in the column of its name. The functions here copy it from message to row,
// so that a new field of a message and a table needs only its name in sources.yaml. Fields with rules of their own are read
// elsewhere; a field that already has a value is not plain.

// plain copies to a row, which is a pointer to a struct of ent, the message's fields that have a column without a value.
func (p *problems) plain(prefix string, in proto.Message, row any) {
	m := in.ProtoReflect()
	for column, to := range columnsOf(row) {
		fd := m.Descriptor().Fields().ByName(column)
		if fd == nil || !to.IsZero() {
			continue
		}
		value := p.plainValue(prefix+fd.JSONName(), m, fd)
		if value == nil {
			continue
		}
		if to.Kind() == reflect.Pointer {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		to.Set(reflect.ValueOf(value).Convert(to.Type()))
	}
}

// plainValue returns a field of a message as its column stores it, or nil if it has no value. It refuses a text that is longer
// than the request that sets the field allows.
func (p *problems) plainValue(field string, m protoreflect.Message, fd protoreflect.FieldDescriptor) any {
	if !m.Has(fd) || fd.IsList() || fd.IsMap() {
		return nil
	}
	switch value := m.Get(fd); fd.Kind() {
	case protoreflect.StringKind:
		if text := p.Text(field, value.String(), maxRunesOf(fd)); text != "" {
			return text
		}
		return nil
	case protoreflect.EnumKind:
		if name := fd.Enum().Values().ByNumber(value.Enum()); name != nil {
			return string(name.Name())
		}
		p.Invalid(field, "has an unknown value")
		return nil
	case protoreflect.MessageKind:
		if at, isTime := value.Message().Interface().(*timestamppb.Timestamp); isTime {
			if t := p.Time(field, at); t != nil {
				return *t
			}
		}
		return nil
	default:
		return value.Interface()
	}
}

// maxRunesOf returns the maximum length that the request for a field declares. If it declares none, it returns
// validate.MaxDescriptionRunes.
func maxRunesOf(fd protoreflect.FieldDescriptor) int {
	for _, of := range []string{"storefront.admin.v1", "storefront.v1"} {
		name := fmt.Sprintf("%s.Create%sRequest.%s", of, fd.ContainingMessage().Name(), fd.Name())
		if found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			return int(min(validate.BoundOf(found.(protoreflect.FieldDescriptor)).Max, int64(validate.MaxDescriptionRunes)))
		}
	}
	return validate.MaxDescriptionRunes
}

// fillPlain sets those columns of a new row that are not set yet and for which its message has a field.
func fillPlain(m ent.Mutation, of proto.Message, row any) error {
	fields := of.ProtoReflect().Descriptor().Fields()
	for column, value := range columnsOf(row) {
		if _, set := m.Field(string(column)); set || fields.ByName(column) == nil || column == "id" || value.IsZero() {
			continue
		}
		if err := m.SetField(string(column), reflect.Indirect(value).Interface()); err != nil {
			return fmt.Errorf("store %s: %w", column, err)
		}
	}
	return nil
}

// columnsOf returns the fields of a row's struct by the names of their columns.
func columnsOf(row any) map[protoreflect.Name]reflect.Value {
	of := map[protoreflect.Name]reflect.Value{}
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag != "" && tag != "-" && v.Type().Field(i).IsExported() {
			of[protoreflect.Name(tag)] = v.Field(i)
		}
	}
	return of
}

// overwrite copies the fields of by to row, except those that are empty in by.
func overwrite[R any](table resource.Fields[R], row, by *R) {
	for _, f := range table {
		if f.Of != nil && f.Differs(by, new(R)) {
			f.Copy(row, by)
		}
	}
}
