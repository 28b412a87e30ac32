package transfer

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/server/validate"
)

// A plain field of a message has the name of a column, and its value needs no check or conversion of its own. The functions
// of this file copy the plain fields of a message to the row. So a new plain field needs no code here: it is named only in
// sources.yaml of cmd/storefront/importfile. Other code reads the fields that have rules of their own.

// copyPlainFields copies the plain fields of in, a message, to row, a pointer to a struct of ent. It skips a field that has
// a value in row already, and ids, which RowID reads. prefix is written before the names of refused fields.
func (p *problems) copyPlainFields(prefix string, in proto.Message, row any) {
	m := in.ProtoReflect()
	for column, to := range columnsOf(row) {
		fd := m.Descriptor().Fields().ByName(column)
		if fd == nil || !to.IsZero() || to.Type() == reflect.TypeFor[uuid.UUID]() {
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

// plainValue returns the value of a message's field in the form of the field's column, or nil if the field has no value. It
// refuses a text that is longer than a request of the API may set.
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

// maxRunesOf returns how many characters a request of the API may set in a field or, if no request sets the field,
// validate.MaxDescriptionRunes.
func maxRunesOf(fd protoreflect.FieldDescriptor) int {
	for _, pkg := range []string{"storefront.admin.v1", "storefront.v1"} {
		name := fmt.Sprintf("%s.Create%sRequest.%s", pkg, fd.ContainingMessage().Name(), fd.Name())
		if found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			return int(min(validate.BoundOf(found.(protoreflect.FieldDescriptor)).Max, int64(validate.MaxDescriptionRunes)))
		}
	}
	return validate.MaxDescriptionRunes
}

// fillPlain sets columns of a new row, which the mutation m inserts, to the values in row, a pointer to a struct of ent. It
// sets the columns that have the name of a field in message, from which row was read. It does not set the id, columns that m
// sets already, and columns whose value in row is zero.
func fillPlain(m ent.Mutation, message proto.Message, row any) error {
	fields := message.ProtoReflect().Descriptor().Fields()
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

// columnsOf returns the fields of a row's struct, by the names of their columns.
func columnsOf(row any) map[protoreflect.Name]reflect.Value {
	columns := map[protoreflect.Name]reflect.Value{}
	v := reflect.ValueOf(row).Elem()
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag != "" && tag != "-" && v.Type().Field(i).IsExported() {
			columns[protoreflect.Name(tag)] = v.Field(i)
		}
	}
	return columns
}

// overwrite copies fields from values to row: the fields in table, except those that are empty in values.
func overwrite[R any](table resource.Fields[R], row, values *R) {
	for _, f := range table {
		if f.Settable && f.Differs(values, new(R)) {
			f.Copy(row, values)
		}
	}
}
