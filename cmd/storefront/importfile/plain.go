package importfile

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/server/transfer"
)

// interpreted lists fields that accept more spellings than the API, or may be left out.
var interpreted = map[transfer.Kind][]string{
	transfer.Products:  {"id", "slug", "summary", "coverUrl", "status", "priceAmount", "compareAtAmount"},
	transfer.Customers: {"id", "name", "email", "phone", "totalPaid"},
	transfer.Orders:    {"id", "reference", "status", "amount", "paidAt"},
}

// copyFields sets the fields with the record's names, except those that are set, lists, or interpreted.
func (b *builder) copyFields(m protoreflect.Message) {
	for fields, i := m.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		fd := fields.Get(i)
		name := fd.JSONName()
		text := b.value(name)
		if text == "" || m.Has(fd) || fd.IsList() || fd.IsMap() || slices.Contains(interpreted[b.Kind], name) {
			continue
		}
		var value any
		var err error
		expected := "a number"
		switch fd.Kind() {
		case protoreflect.StringKind:
			value = text
		case protoreflect.BoolKind:
			value = b.flag(name)
		case protoreflect.Int32Kind:
			var n int64
			n, err = strconv.ParseInt(text, 10, 32)
			value, expected = int32(n), "a whole number" //nolint:gosec // Parsed so.
		case protoreflect.Int64Kind:
			value, err = strconv.ParseInt(text, 10, 64)
			expected = "a whole number"
		case protoreflect.DoubleKind:
			value, err = strconv.ParseFloat(text, 64)
		case protoreflect.EnumKind:
			words := map[string]int32{}
			for values, i := fd.Enum().Values(), 0; i < values.Len(); i++ {
				words[string(values.Get(i).Name())] = int32(values.Get(i).Number())
			}
			value = protoreflect.EnumNumber(b.word(0, name, name, words))
		case protoreflect.MessageKind:
			at := b.timestamp(name)
			if _, isTime := m.NewField(fd).Message().Interface().(*timestamppb.Timestamp); !isTime || at == nil {
				continue
			}
			value = at.ProtoReflect()
		default:
			continue
		}
		if err != nil {
			b.entry.refuse(name, "must be "+expected)
			continue
		}
		m.Set(fd, protoreflect.ValueOf(value))
	}
}
