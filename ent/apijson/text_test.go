package apijson

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func TestSetText(t *testing.T) {
	t.Parallel()
	const status = "must be one of DRAFT, PUBLISHED, ARCHIVED"
	for name, row := range map[string]struct {
		into    proto.Message
		field   protoreflect.Name
		text    string
		want    proto.Message // nil when refused
		problem string
	}{
		"an integer": {&storefrontv1.ListProductsRequest{}, "page", "12",
			&storefrontv1.ListProductsRequest{Page: new(int64(12))}, ""},
		"a negative integer": {&storefrontv1.ListProductsRequest{}, "page", "-1",
			&storefrontv1.ListProductsRequest{Page: new(int64(-1))}, ""},
		"the largest 32-bit integer": {&storefrontv1.ListProductsRequest{}, "page_size", "2147483647",
			&storefrontv1.ListProductsRequest{PageSize: new(int32(2147483647))}, ""},
		"one above it": {&storefrontv1.ListProductsRequest{}, "page_size", "2147483648", nil, problemRange},
		"an integer of many digits": {&storefrontv1.ListProductsRequest{}, "page", "1000000000000000000000000000000", nil,
			problemRange},
		"no integer":              {&storefrontv1.ListProductsRequest{}, "page", "", nil, "must be an integer"},
		"a fraction":              {&storefrontv1.ListProductsRequest{}, "page", "1.0", nil, "must be an integer"},
		"an exponent":             {&storefrontv1.ListProductsRequest{}, "page", "1e2", nil, "must be an integer"},
		"a plus":                  {&storefrontv1.ListProductsRequest{}, "page", "+1", nil, "must be an integer"},
		"a lone minus":            {&storefrontv1.ListProductsRequest{}, "page", "-", nil, "must be an integer"},
		"space around an integer": {&storefrontv1.ListProductsRequest{}, "page", " 1", nil, "must be an integer"},
		"hexadecimal":             {&storefrontv1.ListProductsRequest{}, "page", "0x1", nil, "must be an integer"},
		"text": {&storefrontv1.ListProductsRequest{}, "q", " é%_\\ ",
			&storefrontv1.ListProductsRequest{Q: new(" é%_\\ ")}, ""},
		"empty text": {&storefrontv1.ListProductsRequest{}, "q", "",
			&storefrontv1.ListProductsRequest{Q: new("")}, ""},
		"text with U+0000": {&storefrontv1.ListProductsRequest{}, "q", "a\x00", nil, problemNUL},
		"the name of an enum value": {&storefrontv1.ListProductsRequest{}, "status", "DRAFT",
			&storefrontv1.ListProductsRequest{Status: storefrontv1.Product_DRAFT.Enum()}, ""},
		"its number":                 {&storefrontv1.ListProductsRequest{}, "status", "1", nil, status},
		"its name in another case":   {&storefrontv1.ListProductsRequest{}, "status", "draft", nil, status},
		"the name of an enum's zero": {&storefrontv1.ListProductsRequest{}, "status", "STATUS_UNSPECIFIED", nil, status},
		"no name":                    {&storefrontv1.ListProductsRequest{}, "status", "", nil, status},
		"a date-time": {&storefrontv1.ListOrdersRequest{}, "from", "2026-09-01T14:00:00+02:00",
			&storefrontv1.ListOrdersRequest{From: timestamppb.New(noon)}, ""},
		"a date":                       {&storefrontv1.ListOrdersRequest{}, "to", "2026-09-01", nil, dateTime},
		"a path field":                 {&storefrontv1.GetOrderRequest{}, "id", "x", &storefrontv1.GetOrderRequest{Id: "x"}, ""},
		"a number that is none":        {&storefrontv1.Order{}, "platform_fee_percent", "NaN", nil, "must be a number"},
		"a repeated field has no text": {&storefrontv1.Order{}, "items", "x", nil, "must be left out"},
		"a message has no text":        {&storefrontv1.Order{}, "customer", "x", nil, "must be an object"},
		"a mask has no text": {&storefrontv1.UpdateProductRequest{}, "update_mask", "title", nil,
			"must be a string of field names, separated by commas"},
		"what was there stays when refused": {&storefrontv1.Order{Amount: 5}, "amount", "x", nil, "must be an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := proto.Clone(row.into)
			fd := row.into.ProtoReflect().Descriptor().Fields().ByName(row.field)
			require.Equal(t, row.problem, SetText(row.into, fd, row.text))
			want := row.want
			if want == nil {
				want = before
			}
			require.True(t, proto.Equal(want, row.into), "%v", row.into)
		})
	}
}
