package apijson

import (
	"encoding/json"
	"math"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// connectCodec has all methods that connect looks for; connect.Codec has only some.
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
		"a name as in the proto": {`{"max_payments":5,"thankYouMessage":"a"}`,
			&storefrontv1.CreatePaymentLinkRequest{MaxPayments: new(int32(5)), ThankYouMessage: new("a")}, nil},
		"both names of a field": {`{"maxPayments":5,"max_payments":6}`, &storefrontv1.CreatePaymentLinkRequest{MaxPayments: new(int32(5))},
			[]Field{{"maxPayments", MessageRepeated}}},
		"a refused field, by its JSON name": {`{"max_payments":"x"}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"maxPayments", "must be an integer"}}},
		"names like those in the proto": {`{"maxpayments":1,"Max_payments":1,"max__payments":1}`, &storefrontv1.CreatePaymentLinkRequest{},
			[]Field{{"maxpayments", problemUnknown}, {"Max_payments", problemUnknown}, {"max__payments", problemUnknown}}},
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

// The keys of a map are not names of fields.
func TestCodecReadsTheNamesOfTheProtosAtEveryDepth(t *testing.T) {
	t.Parallel()
	order := &storefrontv1.Order{}
	require.NoError(t, Codec{}.Unmarshal([]byte(`{"payment_link":{"id":"a"},"items":[{"product_id":"b","unit_amount":"5"}]}`), order))
	require.Equal(t, "a", order.GetPaymentLink().GetId())
	require.Equal(t, "b", order.GetItems()[0].GetProductId())
	require.EqualValues(t, 5, order.GetItems()[0].GetUnitAmount())
	var invalid *Invalid
	require.ErrorAs(t, Codec{}.Unmarshal([]byte(`{"payment_link":{"id":5},"items":[{},{"unit_amount":"x"}]}`), order), &invalid)
	require.Equal(t, []Field{{"paymentLink.id", "must be a string"}, {"items[1].unitAmount", "must be an integer"}}, invalid.Fields)

	store := &storefrontv1.Store{}
	require.ErrorAs(t, Codec{}.Unmarshal([]byte(`{"social_links":{"support_email":5}}`), store), &invalid)
	require.Equal(t, []Field{{"socialLinks.support_email", "must be a string"}}, invalid.Fields)

	change := &storefrontv1.UpdateProductRequest{}
	require.NoError(t, Codec{}.Unmarshal([]byte(`{"price_amount":5,"update_mask":"priceAmount"}`), change))
	require.Equal(t, []string{"price_amount"}, change.GetUpdateMask().GetPaths())
	require.NoError(t, Codec{}.Unmarshal([]byte(`{"price_amount":5}`), change))
	require.Equal(t, []string{"price_amount"}, change.GetUpdateMask().GetPaths(), "the names present are the mask")
	require.ErrorAs(t, Unmarshal([]byte(`{"price_amount":5}`), change), &invalid)
	require.Equal(t, []Field{{"price_amount", problemUnknown}}, invalid.Fields, "/v1 has one name")
}

// Valid JSON also for dynamic messages, and for values that no answer has, such as an unknown enum value.
func TestAppendOfOddValues(t *testing.T) {
	t.Parallel()
	dynamic := dynamicpb.NewMessage((&storefrontv1.Customer{}).ProtoReflect().Descriptor())
	require.NoError(t, Unmarshal(Marshal(aCustomer()), dynamic))
	for name, row := range map[string]struct {
		m    proto.Message
		want string // empty: any JSON
	}{
		"a moment":          {timestamppb.New(noon), `"2026-09-01T12:00:00.000Z"`},
		"a mask":            {&fieldmaskpb.FieldMask{Paths: []string{"a_b", "c_", "_d", "e.f_1"}}, `"aB,c_,D,e.f_1"`},
		"a dynamic message": {dynamic, string(Marshal(aCustomer()))},
		"an unknown enum":   {&storefrontv1.Product{Status: 99, Type: -1}, ""},
		"a nil message":     {(*storefrontv1.Product)(nil), `null`},
		"nil in a list": {&storefrontv1.ListOrdersResponse{Data: []*storefrontv1.Order{nil}},
			`{"page":0,"pageSize":0,"total":0,"data":[null]}`},
		"no number":       {&storefrontv1.Order{PlatformFeePercent: math.NaN()}, ""},
		"a broken moment": {&storefrontv1.Customer{CreatedAt: &timestamppb.Timestamp{Seconds: 1 << 62, Nanos: -5}}, ""},
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
