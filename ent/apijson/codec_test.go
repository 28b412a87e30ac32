package apijson

import (
	"encoding/json"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// What connect looks for in a codec beyond connect.Codec; it does not export the interface.
type connectCodec interface {
	connect.Codec
	MarshalAppend(b []byte, message any) ([]byte, error)
	MarshalStable(message any) ([]byte, error)
	IsBinary() bool
}

var _ connectCodec = Codec{}

func TestCodecNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "json", Codec{}.Name())
	require.False(t, Codec{}.IsBinary())
}

func TestCodecsAppend(t *testing.T) {
	t.Parallel()
	m := aProduct()
	want := "base" + string(Marshal(m))
	got, err := Codec{}.MarshalAppend([]byte("base"), m)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
	got, err = Codec{}.MarshalStable(m)
	require.NoError(t, err)
	require.Equal(t, want[4:], string(got))
}

func TestCodecsTakeMessagesOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []connectCodec{Codec{}} {
		_, err := c.Marshal("text")
		require.EqualError(t, err, "string is not a protocol buffers message")
		_, err = c.MarshalStable(nil)
		require.Error(t, err)
		require.Error(t, c.Unmarshal(nil, new(int)))
	}
}

func TestCodecReadsTypedClients(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text    string
		want    *storefrontv1.CreatePaymentLinkRequest
		refused []Field
	}{
		"a 64-bit integer as a string": {`{"amount":"1500","minAmount":"-9223372036854775808"}`,
			&storefrontv1.CreatePaymentLinkRequest{Amount: new(int64(1500)), MinAmount: new(int64(-9223372036854775808))}, nil},
		"a 64-bit integer as a number": {`{"amount":1500}`, &storefrontv1.CreatePaymentLinkRequest{Amount: new(int64(1500))}, nil},
		"the number of an enum value": {`{"pricing":2}`,
			&storefrontv1.CreatePaymentLinkRequest{Pricing: storefrontv1.PaymentLink_OPEN}, nil},
		"an enum's zero": {`{"pricing":"PRICING_UNSPECIFIED"}`, &storefrontv1.CreatePaymentLinkRequest{}, nil},
		"a date-time with nanoseconds": {`{"expiresAt":"2026-09-01T12:00:00.000000001Z"}`,
			&storefrontv1.CreatePaymentLinkRequest{ExpiresAt: timestamppb.New(noon.Add(1))}, nil},
		"a string that is no integer": {`{"amount":"1.5","minAmount":""}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"amount", "must be an integer"}, {"minAmount", "must be an integer"}}},
		"a string beyond 64 bits": {`{"amount":"9223372036854775808"}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"amount", problemRange}}},
		"a 32-bit integer as a string": {`{"maxPayments":"5"}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"maxPayments", "must be an integer"}}},
		"the number of no enum value": {`{"pricing":9}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"pricing", "must be one of FIXED, OPEN"}}},
		"an enum number that is not whole": {`{"pricing":1.5}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"pricing", "must be one of FIXED, OPEN"}}},
		"an unknown field beside one known": {`{"title":"a","colour":1}`, &storefrontv1.CreatePaymentLinkRequest{Title: "a"},
			[]Field{{"colour", problemUnknown}}},
		"the proto form of a name": {`{"max_payments":1}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"max_payments", problemUnknown}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &storefrontv1.CreatePaymentLinkRequest{}
			var invalid *Invalid
			if err := (Codec{}).Unmarshal([]byte(row.text), m); err != nil {
				require.ErrorAs(t, err, &invalid)
			}
			if row.refused == nil {
				require.Nil(t, invalid)
			} else {
				require.Equal(t, &Invalid{Message: messageFields, Fields: row.refused}, invalid)
			}
			require.True(t, proto.Equal(row.want, m), "%v", m)
		})
	}
}

// TestAppendOfOtherMessages checks that any message can be encoded: vanguard passes its errors as
// google.rpc.Status through the codec, and other services may share it.
func TestAppendOfOtherMessages(t *testing.T) {
	t.Parallel()
	detail, err := anypb.New(orderOf(1))
	require.NoError(t, err)
	structure, err := structpb.NewStruct(map[string]any{"a": 1.0, "b": []any{nil, true, "x"}, "c": map[string]any{}})
	require.NoError(t, err)
	descriptor := protodesc.ToFileDescriptorProto(storefrontv1.File_storefront_v1_store_proto)
	dynamic := dynamicpb.NewMessage((&storefrontv1.Customer{}).ProtoReflect().Descriptor())
	proto.Merge(dynamic, aCustomer())

	for name, row := range map[string]struct {
		m    proto.Message
		want string // empty: any JSON
	}{
		"a status": {&statuspb.Status{Code: 5, Message: "no", Details: []*anypb.Any{{TypeUrl: "t", Value: []byte{0xff}}}},
			`{"code":5,"message":"no","details":[{"typeUrl":"t","value":"/w=="}]}`},
		"any": {detail, ""},
		"a struct, by oneof": {structure,
			`{"fields":{"a":{"numberValue":1},"b":{"listValue":{"values":[{"nullValue":"NULL_VALUE"},{"boolValue":true},{"stringValue":"x"}]}},"c":{"structValue":{"fields":{}}}}}`},
		"a descriptor":      {descriptor, ""},
		"wrapped bytes":     {wrapperspb.Bytes([]byte{1}), `{"value":"AQ=="}`},
		"a wrapped uint64":  {wrapperspb.UInt64(18446744073709551615), `{"value":18446744073709551615}`},
		"a wrapped float":   {wrapperspb.Float(0.1), `{"value":0.1}`},
		"a wrapped bool":    {wrapperspb.Bool(true), `{"value":true}`},
		"a moment":          {timestamppb.New(noon), `"2026-09-01T12:00:00.000Z"`},
		"a mask":            {&fieldmaskpb.FieldMask{Paths: []string{"a_b", "c_", "_d", "e.f_1"}}, `"aB,c_,D,e.f_1"`},
		"a dynamic message": {dynamic, string(Marshal(aCustomer()))},
		"an unknown enum":   {&storefrontv1.Product{Status: 99, Type: -1}, ""},
		"a nil message":     {(*storefrontv1.Product)(nil), `null`},
		"a nil interface":   {nil, `null`},
		"nil in a list": {&storefrontv1.ListOrdersResponse{Data: []*storefrontv1.Order{nil}},
			`{"page":0,"pageSize":0,"total":0,"data":[null]}`},
		"a broken moment": {&storefrontv1.Customer{CreatedAt: &timestamppb.Timestamp{Seconds: 1 << 62, Nanos: -5}}, ""},
		"proto2 defaults": {&descriptorpb.FieldOptions{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Marshal(row.m)
			require.True(t, json.Valid(got), "%s", got)
			if row.want != "" {
				require.Equal(t, row.want, string(got))
			}
		})
	}
}

// TestUnmarshalOfOtherMessages reads what only other services' messages have: oneofs, maps of
// messages, bytes and booleans.
func TestUnmarshalOfOtherMessages(t *testing.T) {
	t.Parallel()
	structure, err := structpb.NewStruct(map[string]any{"a": 1.5, "b": []any{true, "x"}, "c": map[string]any{"d": "e"}})
	require.NoError(t, err)
	for _, m := range []proto.Message{
		structure, wrapperspb.Bytes([]byte{1, 2}), wrapperspb.Bool(true), wrapperspb.UInt64(1 << 63), wrapperspb.UInt32(7),
		wrapperspb.Float(0.25),
		&anypb.Any{TypeUrl: "t", Value: []byte("v")},
	} {
		back := m.ProtoReflect().New().Interface()
		require.NoError(t, Unmarshal(Marshal(m), back))
		require.True(t, proto.Equal(m, back), "%v", back)
	}
	dynamic := dynamicpb.NewMessage((&storefrontv1.UpdatePaymentLinkRequest{}).ProtoReflect().Descriptor())
	require.NoError(t, Unmarshal([]byte(`{"title":"a","expiresAt":"2026-09-01T12:00:00Z"}`), dynamic))
	require.JSONEq(t, `{"id":"","title":"a","pricing":null,"amount":null,"minAmount":null,"description":null,"coverUrl":null,"thankYouMessage":null,
		"expiresAt":"2026-09-01T12:00:00.000Z","maxPayments":null,"updateMask":"title,expiresAt"}`, string(Marshal(dynamic)))
	for text, row := range map[string]struct {
		into proto.Message
		want Field
	}{
		`{"numberValue":1,"boolValue":true}`: {&structpb.Value{}, Field{"boolValue", problemOneof}},
		`{"value":"*"}`:                      {&wrapperspb.BytesValue{}, Field{"value", "must be a base64 string"}},
		`{"value":-1}`:                       {&wrapperspb.UInt64Value{}, Field{"value", problemRange}},
		`{"value":4294967296}`:               {&wrapperspb.UInt32Value{}, Field{"value", problemRange}},
		`{"value":"true"}`:                   {&wrapperspb.BoolValue{}, Field{"value", "must be true or false"}},
		`{"value":1e39}`:                     {&wrapperspb.FloatValue{}, Field{"value", problemNumber}},
		`{"fields":{"a":1}}`:                 {&structpb.Struct{}, Field{"fields.a", "must be an object"}},
	} {
		require.Equal(t, []Field{row.want}, refusalOf(t, Unmarshal([]byte(text), row.into)).Fields, text)
	}
}
