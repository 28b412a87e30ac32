package apijson

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// messageTypes returns all types of storefront.v1, with those nested in other types.
func messageTypes() []protoreflect.MessageType {
	var types []protoreflect.MessageType
	_ = storefrontv1.File_storefront_v1_order_proto
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		d := mt.Descriptor()
		if strings.HasPrefix(string(d.FullName()), "storefront.v1.") && !d.IsMapEntry() {
			types = append(types, mt)
		}
		return true
	})
	return types
}

// draw returns a message as a decoder could have made it: times in milliseconds, Unicode text without U+0000, a mask in every
// mask field, and an enum's zero only if zeros is true.
func draw(t *rapid.T, mt protoreflect.MessageType, zeros bool) protoreflect.Message {
	m := mt.New()
	fields := mt.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		label := string(fd.Name())
		switch {
		case fd.Message() != nil && fd.Message().FullName() == fieldMaskName:
			names := rapid.SliceOfN(rapid.SampledFrom(maskable(fields)), 0, 3).Draw(t, label)
			m.Set(fd, protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: names}).ProtoReflect()))
		case fd.HasPresence() && rapid.Bool().Draw(t, label+" absent"):
		case fd.IsMap():
			for k, v := range rapid.MapOfN(text(), text(), 0, 4).Draw(t, label) {
				m.Mutable(fd).Map().Set(protoreflect.ValueOfString(k).MapKey(), protoreflect.ValueOfString(v))
			}
		case fd.IsList():
			for range rapid.IntRange(0, 3).Draw(t, label) {
				if fd.Message() != nil {
					child := m.Mutable(fd).List().AppendMutable().Message()
					proto.Merge(child.Interface(), draw(t, child.Type(), zeros).Interface())
				} else {
					m.Mutable(fd).List().Append(drawValue(t, m, fd, zeros))
				}
			}
		default:
			m.Set(fd, drawValue(t, m, fd, zeros))
		}
	}
	return m
}

func maskable(fields protoreflect.FieldDescriptors) []string {
	var names []string
	for i := range fields.Len() {
		if n := fields.Get(i).Name(); n != "id" && n != "update_mask" {
			names = append(names, string(n))
		}
	}
	return names
}

func text() *rapid.Generator[string] {
	return rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
}

func drawValue(t *rapid.T, m protoreflect.Message, fd protoreflect.FieldDescriptor, zeros bool) protoreflect.Value {
	label := string(fd.Name())
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text().Draw(t, label))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, label))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, label))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, label))
	case protoreflect.EnumKind:
		from := 1
		if zeros {
			from = 0
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.IntRange(from, fd.Enum().Values().Len()-1).Draw(t, label)))
	case protoreflect.MessageKind:
		if fd.Message().FullName() == timestampName {
			// The range of a protobuf Timestamp, from 0001-01-01 to 9999-12-31.
			ms := rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, label)
			seconds := ms / 1000
			if ms%1000 < 0 {
				seconds--
			}
			return protoreflect.ValueOfMessage((&timestamppb.Timestamp{
				Seconds: seconds, Nanos: int32(ms-seconds*1000) * 1e6,
			}).ProtoReflect())
		}
		return protoreflect.ValueOfMessage(draw(t, m.NewField(fd).Message().Type(), zeros))
	default:
		t.Fatalf("no value is drawn for a field of kind %v", fd.Kind())
		return protoreflect.Value{}
	}
}

// Marshal panics at a field whose type it does not support.
func TestEveryMessageHasJSON(t *testing.T) {
	t.Parallel()
	for _, file := range []protoreflect.FileDescriptor{
		storefrontv1.File_storefront_v1_order_proto, adminv1.File_storefront_admin_v1_order_proto,
	} {
		protoregistry.GlobalFiles.RangeFilesByPackage(file.Package(), func(fd protoreflect.FileDescriptor) bool {
			for i := range fd.Messages().Len() {
				require.NotPanics(t, func() { Marshal(dynamicpb.NewMessage(fd.Messages().Get(i))) })
			}
			return true
		})
	}
}

// TestRoundTrip has every message of the API.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	types := messageTypes()
	require.Greater(t, len(types), 25)
	for _, mt := range types {
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := draw(t, mt, false)
				text := Marshal(m.Interface())
				require.True(t, json.Valid(text), "%s", text)

				back := mt.New().Interface()
				require.NoError(t, Unmarshal(text, back), "%s", text)
				require.True(t, proto.Equal(m.Interface(), back), "%s\n%v", text, back)
			})
		})
	}
}

// TestRoundTripOfCodec includes the zeros of enums, because typed clients and transcoders may send them.
func TestRoundTripOfCodec(t *testing.T) {
	t.Parallel()
	for _, mt := range messageTypes() {
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := draw(t, mt, true).Interface()
				text, err := Codec{}.Marshal(m)
				require.NoError(t, err)
				back := mt.New().Interface()
				require.NoError(t, Codec{}.Unmarshal(text, back))
				require.True(t, proto.Equal(m, back), "%s\n%v", text, back)
			})
		})
	}
}
