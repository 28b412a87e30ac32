package apijson

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const dateTime = "must be an RFC 3339 date-time, such as 2026-09-01T12:00:00.000Z"

// refusalOf fails the test if no field was refused.
func refusalOf(t *testing.T, err error) *Invalid {
	t.Helper()
	var invalid *Invalid
	require.ErrorAs(t, err, &invalid)
	return invalid
}

func TestUnmarshalRefusesFields(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		into    proto.Message // default: CreatePaymentLinkRequest
		text    string
		unknown []string
		want    []Field
	}{
		"a string where an integer stands":   {text: `{"amount":"1500"}`, want: []Field{{"amount", "must be an integer"}}},
		"a number where a string stands":     {text: `{"title":5}`, want: []Field{{"title", "must be a string"}}},
		"true where a string stands":         {text: `{"title":true}`, want: []Field{{"title", "must be a string"}}},
		"an array where a string stands":     {text: `{"title":["a",{"b":[]}]}`, want: []Field{{"title", "must be a string"}}},
		"an object where a date-time stands": {text: `{"expiresAt":{"seconds":1}}`, want: []Field{{"expiresAt", dateTime}}},
		"a number where a date-time stands":  {text: `{"expiresAt":1788264000}`, want: []Field{{"expiresAt", dateTime}}},
		"a text that is no date-time":        {text: `{"expiresAt":"tomorrow"}`, want: []Field{{"expiresAt", dateTime}}},
		"an unknown name":                    {text: `{"colour":1}`, want: []Field{{"colour", problemUnknown}}},
		"a read-only name": {text: `{"code":"x","currency":"XAF"}`, want: []Field{{"code", problemUnknown},
			{"currency", problemUnknown}}},
		"the proto form of a name":        {text: `{"min_amount":1}`, want: []Field{{"min_amount", problemUnknown}}},
		"a name in another case":          {text: `{"Title":"x"}`, want: []Field{{"Title", problemUnknown}}},
		"an empty name":                   {text: `{"":1}`, want: []Field{{"", problemUnknown}}},
		"a name given twice":              {text: `{"title":"a","title":"b"}`, want: []Field{{"title", MessageRepeated}}},
		"a name given twice by an escape": {text: `{"title":"a","\u0074itle":"b"}`, want: []Field{{"title", MessageRepeated}}},
		"a refused name given three times": {text: `{"title":1,"title":2,"title":3}`,
			want: []Field{{"title", "must be a string"}}},
		"an unknown name given twice": {text: `{"x":1,"x":2}`, want: []Field{{"x", problemUnknown}}},
		"null for a text that is not optional": {text: `{"title":null}`,
			want: []Field{{"title", "must be a string; null is not allowed"}}},
		"null for an enum that is not optional": {text: `{"pricing":null}`,
			want: []Field{{"pricing", "must be one of FIXED, OPEN; null is not allowed"}}},
		"the number of an enum value": {text: `{"pricing":1}`, want: []Field{{"pricing", "must be one of FIXED, OPEN"}}},
		"an enum value in another case": {text: `{"pricing":"fixed"}`,
			want: []Field{{"pricing", "must be one of FIXED, OPEN"}}},
		"the name of an enum's zero": {text: `{"pricing":"PRICING_UNSPECIFIED"}`,
			want: []Field{{"pricing", "must be one of FIXED, OPEN"}}},
		"a number that is not whole": {text: `{"amount":1.5}`, want: []Field{{"amount", "must be an integer"}}},
		"a number just not whole": {text: `{"amount":1.00000000000000000000000001}`,
			want: []Field{{"amount", "must be an integer"}}},
		"one above 32 bits": {text: `{"maxPayments":2147483648}`, want: []Field{{"maxPayments", problemRange}}},
		"one above 64 bits": {text: `{"amount":9223372036854775808}`, want: []Field{{"amount", problemRange}}},
		"one below 64 bits": {text: `{"amount":-9223372036854775809}`, want: []Field{{"amount", problemRange}}},
		"a large exponent":  {text: `{"amount":1e400}`, want: []Field{{"amount", problemRange}}},
		"an exponent that no memory would hold": {text: `{"amount":1e999999999999999999999999}`,
			want: []Field{{"amount", problemRange}}},
		"an exponent as far below": {text: `{"amount":1e-999999999999999999999999}`,
			want: []Field{{"amount", "must be an integer"}}},
		"a lone high surrogate":                    {text: `{"title":"a\ud800b"}`, want: []Field{{"title", problemUnicode}}},
		"a lone low surrogate":                     {text: `{"title":"\udc00"}`, want: []Field{{"title", problemUnicode}}},
		"a high surrogate before another escape":   {text: `{"title":"\ud800\n"}`, want: []Field{{"title", problemUnicode}}},
		"two high surrogates":                      {text: `{"title":"\ud800\ud800"}`, want: []Field{{"title", problemUnicode}}},
		"bytes that are not UTF-8":                 {text: "{\"title\":\"a\xff\"}", want: []Field{{"title", problemUnicode}}},
		"bytes that are not UTF-8 after an escape": {text: "{\"title\":\"\\n\xff\"}", want: []Field{{"title", problemUnicode}}},
		"a surrogate in UTF-8":                     {text: "{\"title\":\"\xed\xa0\x80\"}", want: []Field{{"title", problemUnicode}}},
		"U+0000":                                   {text: `{"title":"a\u0000"}`, want: []Field{{"title", problemNUL}}},
		"every refused field, in the order met": {
			text: `{"title":1,"x":{"y":[1,2]},"amount":"2","description":"fine","maxPayments":0.5}`,
			want: []Field{{"title", "must be a string"}, {"x", problemUnknown}, {"amount", "must be an integer"},
				{"maxPayments", "must be an integer"}},
		},
		"the names that the caller hides": {
			into: &storefrontv1.UpdateProductRequest{}, text: `{"id":"a","title":"b","updateMask":"title"}`, unknown: []string{"id",
				"updateMask"},
			want: []Field{{"id", problemUnknown}, {"updateMask", problemUnknown}},
		},
		"a mask of another type": {into: &storefrontv1.UpdateProductRequest{}, text: `{"updateMask":["title"]}`,
			want: []Field{{"updateMask", "must be a string of field names, separated by commas"}}},
		"a mask of unknown names": {into: &storefrontv1.UpdateProductRequest{}, text: `{"updateMask":"title,colour"}`,
			want: []Field{{"updateMask", problemMask}}},
		"a mask of proto names": {into: &storefrontv1.UpdateProductRequest{}, text: `{"updateMask":"price_amount"}`,
			want: []Field{{"updateMask", problemMask}}},
		"a mask of the path field": {into: &storefrontv1.UpdateProductRequest{}, text: `{"updateMask":"id"}`,
			want: []Field{{"updateMask", problemMask}}},
		"nested fields, dotted": {
			into: &storefrontv1.Order{}, text: `{"customer":{"id":1,"x":2},"items":[{"title":"a"},{"title":3},4],"paymentLink":"x"}`,
			want: []Field{{"customer.id", "must be a string"}, {"customer.x", problemUnknown}, {"items[1].title", "must be a string"},
				{"items[2]", "must be an object"}, {"paymentLink", "must be an object"}},
		},
		"a nested name given twice": {into: &storefrontv1.Order{}, text: `{"customer":{"id":"a","id":"b"}}`,
			want: []Field{{"customer.id", MessageRepeated}}},
		"hidden names only at the top": {into: &storefrontv1.Order{}, text: `{"id":"a","customer":{"id":"b"}}`,
			unknown: []string{"id"}, want: []Field{{"id", problemUnknown}}},
		"an object where an array is": {into: &storefrontv1.Order{}, text: `{"items":{}}`,
			want: []Field{{"items", "must be an array"}}},
		"null where an array is": {into: &storefrontv1.Order{}, text: `{"items":null}`,
			want: []Field{{"items", "must be an array; null is not allowed"}}},
		"null inside an array": {into: &storefrontv1.ErrorDetails{}, text: `{"missing":[null,"a"]}`,
			want: []Field{{"missing[0]", "must be a string"}}},
		"a number beyond all doubles": {into: &storefrontv1.Order{}, text: `{"platformFeePercent":1e999}`,
			want: []Field{{"platformFeePercent", problemNumber}}},
		"a map's value of another type": {into: &storefrontv1.Store{}, text: `{"socialLinks":{"x":1,"y":"fine"}}`,
			want: []Field{{"socialLinks.x", "must be a string"}}},
		"a map's name given twice": {into: &storefrontv1.Store{}, text: `{"socialLinks":{"x":"a","x":"b"}}`,
			want: []Field{{"socialLinks.x", MessageRepeated}}},
		"null where a map is": {into: &storefrontv1.Store{}, text: `{"socialLinks":null}`,
			want: []Field{{"socialLinks", "must be an object; null is not allowed"}}},
		"an array where a map is": {into: &storefrontv1.Store{}, text: `{"socialLinks":[]}`,
			want: []Field{{"socialLinks", "must be an object"}}},
		"a name that needs its escaping": {text: `{"a\"b":1}`, want: []Field{{`a"b`, problemUnknown}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := row.into
			if m == nil {
				m = &storefrontv1.CreatePaymentLinkRequest{}
			}
			require.Equal(t, row.want, refusalOf(t, Unmarshal([]byte(row.text), m, row.unknown...)).Fields)
		})
	}
}

func TestUnmarshalRefusesTexts(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want error
	}{
		"zero bytes":                         {"", errEmpty},
		"white space":                        {" \n", errSyntax},
		"no JSON":                            {"title=a", errSyntax},
		"a byte order mark":                  {"\ufeff{}", errByteOrderMark},
		"a byte order mark alone":            {"\ufeff", errByteOrderMark},
		"UTF-16":                             {"\xff\xfe{\x00}\x00", errUTF16},
		"UTF-16 of the other byte order":     {"\xfe\xff\x00{\x00}", errUTF16},
		"null":                               {"null", errNotObject},
		"an array":                           {"[{}]", errNotObject},
		"a string":                           {`"{}"`, errNotObject},
		"an unfinished object":               {`{"title":"a"`, errSyntax},
		"an unfinished string":               {`{"title":"a`, errSyntax},
		"an unfinished escape":               {`{"title":"\`, errSyntax},
		"an unfinished \\u":                  {`{"title":"\u12`, errSyntax},
		"an unknown escape":                  {`{"title":"\x"}`, errSyntax},
		"a \\u without hexadecimal digits":   {`{"title":"\u00g0"}`, errSyntax},
		"a bad low half of a surrogate pair": {`{"title":"\ud800\uzzzz"}`, errSyntax},
		"a line break in a string":           {"{\"title\":\"a\nb\"}", errSyntax},
		"a line break after an escape":       {"{\"title\":\"\\t\n\"}", errSyntax},
		"a raw U+0000":                       {"{\"title\":\"\x00\"}", errSyntax},
		"a comma too many":                   {`{"title":"a",}`, errSyntax},
		"a comma too many in an array":       {`{"x":[1,]}`, errSyntax},
		"a comma too few":                    {`{"title":"a" "pricing":"FIXED"}`, errSyntax},
		"a name without quotes":              {`{title:"a"}`, errSyntax},
		"a name in single quotes":            {`{'title':"a"}`, errSyntax},
		"a missing colon":                    {`{"title" "a"}`, errSyntax},
		"a missing value":                    {`{"title":}`, errSyntax},
		"a comment":                          {`{/**/}`, errSyntax},
		"a leading zero":                     {`{"amount":01}`, errSyntax},
		"a leading plus":                     {`{"amount":+1}`, errSyntax},
		"a point without digits":             {`{"amount":1.}`, errSyntax},
		"an exponent without digits":         {`{"amount":1e}`, errSyntax},
		"a lone minus":                       {`{"amount":-}`, errSyntax},
		"hexadecimal":                        {`{"amount":0x10}`, errSyntax},
		"NaN":                                {`{"amount":NaN}`, errSyntax},
		"a misspelt null":                    {`{"amount":nul}`, errSyntax},
		"brackets that do not match":         {`{"x":[1}`, errSyntax},
		"text after the object":              {`{} {}`, errTrailing},
		"a bracket after the object":         {`{}}`, errTrailing},
		"a name that is not Unicode":         {"{\"\xff\":1}", errName},
		"a name with U+0000":                 {`{"\u0000":1}`, errName},
		"a name with a lone surrogate":       {`{"\ud800":1}`, errName},
		"a syntax error after a refusal":     {`{"title":1,"amount":}`, errSyntax},
		"a deep array":                       {`{"x":` + strings.Repeat("[", 100000), errSyntax},
		"a deep object":                      {strings.Repeat(`{"x":`, 100000), errSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &storefrontv1.CreatePaymentLinkRequest{Title: "old"}
			invalid := refusalOf(t, Unmarshal([]byte(row.text), m))
			require.Equal(t, row.want.Error(), invalid.Message)
			require.Empty(t, invalid.Fields)
			require.True(t, proto.Equal(&storefrontv1.CreatePaymentLinkRequest{}, m), "nothing is kept of a text that cannot be read")
		})
	}
	require.NoError(t, Unmarshal([]byte(`{"socialLinks":{}}`), &storefrontv1.Store{}))
}

func TestUnmarshalReads(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want proto.Message
	}{
		"an empty object": {`{}`, &storefrontv1.CreatePaymentLinkRequest{}},
		"white space everywhere": {" {\t\"title\" :\r\n\"a\" , \"amount\" : 5 } \n",
			&storefrontv1.CreatePaymentLinkRequest{Title: "a", Amount: new(int64(5))}},
		"every field":              {`{"title":"a","pricing":"OPEN","minAmount":1,"description":"d","coverUrl":"u","thankYouMessage":"m","expiresAt":"2026-09-01T14:00:00.9999+02:00","maxPayments":3}`, &storefrontv1.CreatePaymentLinkRequest{Title: "a", Pricing: storefrontv1.PaymentLink_OPEN, MinAmount: new(int64(1)), Description: new("d"), CoverUrl: new("u"), ThankYouMessage: new("m"), ExpiresAt: timestamppb.New(noon.Add(999900 * time.Microsecond)), MaxPayments: new(int32(3))}},
		"null for optional fields": {`{"amount":null,"description":null,"expiresAt":null}`, &storefrontv1.CreatePaymentLinkRequest{}},
		"whole numbers by value": {`{"amount":100.0,"minAmount":1e2,"maxPayments":-0.0e5}`,
			&storefrontv1.CreatePaymentLinkRequest{Amount: new(int64(100)), MinAmount: new(int64(100)), MaxPayments: new(int32(0))}},
		"the limits of integers": {`{"amount":9223372036854775807,"minAmount":-9223372036854775808,"maxPayments":-2147483648}`,
			&storefrontv1.CreatePaymentLinkRequest{Amount: new(int64(9223372036854775807)), MinAmount: new(int64(-9223372036854775808)),
				MaxPayments: new(int32(-2147483648))}},
		"large exact numbers": {`{"amount":9007199254740993,"minAmount":9.007199254740993e15}`,
			&storefrontv1.CreatePaymentLinkRequest{Amount: new(int64(9007199254740993)), MinAmount: new(int64(9007199254740993))}},
		"escapes": {`{"title":"\"\\\/\b\f\n\r\t\u00e9\ud83c\udf89é🎉"}`,
			&storefrontv1.CreatePaymentLinkRequest{Title: "\"\\/\b\f\n\r\té🎉é🎉"}},
		"an escape in a name": {`{"\u0074itle":"a"}`, &storefrontv1.CreatePaymentLinkRequest{Title: "a"}},
		"enums": {`{"status":"inactive"}`,
			&storefrontv1.ListPaymentLinksRequest{Status: storefrontv1.ListPaymentLinksRequest_inactive.Enum()}},

		"a mask of the names present": {`{"priceAmount":5,"compareAtAmount":null,"id":"x"}`,
			&storefrontv1.UpdateProductRequest{Id: "x", PriceAmount: new(int64(5)),
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"price_amount", "compare_at_amount"}}}},
		"an empty mask for an empty object": {`{}`, &storefrontv1.UpdateProductRequest{UpdateMask: &fieldmaskpb.FieldMask{}}},
		"a mask of the names beside null": {`{"title":"a","updateMask":null}`, &storefrontv1.UpdateProductRequest{Title: new("a"),
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"title"}}}},
		"a mask that is given": {`{"title":"a","updateMask":"summary,priceAmount"}`,
			&storefrontv1.UpdateProductRequest{Title: new("a"), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"summary",
				"price_amount"}}}},
		"an empty mask that is given": {`{"updateMask":"","title":"a"}`, &storefrontv1.UpdateProductRequest{Title: new("a"),
			UpdateMask: &fieldmaskpb.FieldMask{}}},
		"a date-time's null is in the mask": {`{"expiresAt":null}`,
			&storefrontv1.UpdatePaymentLinkRequest{UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"expires_at"}}}},
		"whole resources, as an import does": {string(Marshal(orderOf(3))), orderOf(3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := row.want.ProtoReflect().New().Interface()
			require.NoError(t, Unmarshal([]byte(row.text), m))
			require.True(t, proto.Equal(row.want, m), "want %v\ngot  %v", row.want, m)
			if u, ok := m.(*storefrontv1.UpdateProductRequest); ok {
				require.NotNil(t, u.GetUpdateMask())
			}
		})
	}
}

// So that server/shop can also check the valid fields.
func TestUnmarshalKeepsWhatIsFine(t *testing.T) {
	t.Parallel()
	m := &storefrontv1.CreatePaymentLinkRequest{Description: new("from before")}
	invalid := refusalOf(t, Unmarshal([]byte(`{"title":"a","amount":"x","pricing":"FIXED","colour":1,"maxPayments":2}`), m))
	require.Len(t, invalid.Fields, 2)
	require.Equal(t, "invalid request: The request has invalid fields. amount must be an integer. colour is not a known field.",
		invalid.Error())
	require.True(t, proto.Equal(&storefrontv1.CreatePaymentLinkRequest{
		Title: "a", Pricing: storefrontv1.PaymentLink_FIXED, MaxPayments: new(int32(2)),
	}, m))
}

func TestUnmarshalBoundsTheList(t *testing.T) {
	t.Parallel()
	text := []byte{'{'}
	for i := range 3 * maxFields {
		text = append(text, `"`+strconv.Itoa(i)+`":0,`...)
	}
	text = append(bytes.TrimSuffix(text, []byte(",")), '}')
	require.Len(t, refusalOf(t, Unmarshal(text, &storefrontv1.Store{})).Fields, maxFields)
}
