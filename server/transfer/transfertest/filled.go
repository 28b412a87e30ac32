package transfertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Filler fills messages for tests, by reflection. Each field gets a value that no other field has. So a field that is added
// to a message is tested without a change of the tests. The zero Filler is ready for use.
type Filler struct{ n int }

// Fill sets all fields without a value, of the message and of the messages in it. A list gets two elements. Fields that must
// agree with each other have to be set before.
func (f *Filler) Fill(m proto.Message) { f.fill(m.ProtoReflect()) }

func (f *Filler) fill(m protoreflect.Message) {
	for fields, i := m.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		fd := fields.Get(i)
		switch {
		case m.Has(fd) && fd.Message() != nil && !fd.IsList() && !fd.IsMap() && fd.Message().FullName() != "google.protobuf.Timestamp":
			f.fill(m.Mutable(fd).Message())
		case m.Has(fd):
		case fd.IsMap():
			m.Mutable(fd).Map().Set(protoreflect.ValueOfString("x").MapKey(), f.value(fd.MapValue(), m.Mutable(fd).Map().NewValue))
		case fd.IsList():
			for list := m.Mutable(fd).List(); list.Len() < 2; {
				list.Append(f.value(fd, list.NewElement))
			}
		default:
			m.Set(fd, f.value(fd, func() protoreflect.Value { return m.NewField(fd) }))
		}
	}
}

// value returns the next value of a field's type, in the form that the field's name requires.
func (f *Filler) value(fd protoreflect.FieldDescriptor, empty func() protoreflect.Value) protoreflect.Value {
	f.n++
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if fd.Message().FullName() == "google.protobuf.Timestamp" {
			return protoreflect.ValueOfMessage(timestamppb.New(
				time.Date(2025, 1, 1, 0, f.n, 0, f.n*int(time.Millisecond), time.UTC)).ProtoReflect())
		}
		inner := empty()
		f.fill(inner.Message())
		return inner
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(f.text(fd))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(1 + f.n%(values.Len()-1)).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(1000 + f.n)) //nolint:gosec // A small number.
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(1000 + f.n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(f.n%100) + 0.25)
	}
	panic(fmt.Sprintf("transfertest: a value of the kind %s for %s is missing", fd.Kind(), fd.FullName()))
}

func (f *Filler) text(fd protoreflect.FieldDescriptor) string {
	name := string(fd.Name())
	switch {
	case name == "id" || strings.HasSuffix(name, "_id"):
		return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, f.n)).String()
	case name == "currency":
		return "XAF"
	case name == "country":
		return "CM"
	case strings.HasSuffix(name, "email"):
		return fmt.Sprintf("f%d@example.com", f.n)
	case strings.HasSuffix(name, "phone"):
		return fmt.Sprintf("+23767000%04d", f.n)
	case strings.HasSuffix(name, "url"), fd.ContainingMessage().IsMapEntry():
		return fmt.Sprintf("https://f%d.example.com/a", f.n)
	case name == "slug", name == "code":
		return fmt.Sprintf("f%d", f.n)
	case name == "payload", name == "changes":
		return fmt.Sprintf(`{"n":{"from":null,"to":%d}}`, f.n)
	}
	return fmt.Sprintf("%s é %d", name, f.n)
}
