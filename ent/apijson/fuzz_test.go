package apijson

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// FuzzUnmarshal checks that nothing panics, that a message stays the same written and read again, and that a refusal has a
// message.
func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"title":"a","pricing":"FIXED","amount":1e2,"expiresAt":"2026-09-01T12:00:00+01:00"}`,
		`{"title":"\ud83c\udf89\u0000\ud800","x":[{"y":[-0.5e-7,true,false,null]}]}`, `{"updateMask":"title,priceAmount","title":null}`,
		`{"socialLinks":{"a":"b","a":1}}`, `{"customer":{"id":1},"items":[{"quantity":1.0},2]}`, "{\"\xff\":\"\xff\"}",
		`{"amount":1e999999999}`,
		string(Marshal(orderOf(1))), string(Marshal(aStore())), strings.Repeat("[", 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range []proto.Message{
			&storefrontv1.CreatePaymentLinkRequest{}, &storefrontv1.UpdateProductRequest{}, &storefrontv1.Order{}, &storefrontv1.Store{},
		} {
			err := Unmarshal(data, m)
			if err == nil {
				// Marshal writes an unset enum as its zero value, which Unmarshal refuses.
				back := m.ProtoReflect().New().Interface()
				require.NoError(t, Codec{}.Unmarshal(Marshal(m), back))
				require.True(t, proto.Equal(m, back), "%v\n%v", m, back)
				typed := m.ProtoReflect().New().Interface()
				require.NoError(t, Codec{}.Unmarshal(data, typed))
				require.True(t, proto.Equal(m, typed), "what /v1 accepts, typed clients may send")
				continue
			}
			var invalid *Invalid
			require.ErrorAs(t, err, &invalid)
			require.NotEmpty(t, invalid.Message)
			names := map[string]bool{}
			for _, field := range invalid.Fields {
				require.True(t, utf8.ValidString(field.Name))
				require.NotEmpty(t, field.Message)
				require.False(t, names[field.Name], "each name once")
				names[field.Name] = true
			}
		}
	})
}

// FuzzParseTime compares what ParseTime accepts with time.Parse.
func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{
		"", "2026-09-01T12:00:00Z", "2026-09-01T12:00:00.123456789+14:00", "2024-02-29t23:59:59.9z", "0001-01-01T00:00:00-00:01",
		"2016-12-31T23:59:60Z",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTime(text)
		if err != nil {
			return
		}
		want, err := time.Parse(time.RFC3339, strings.ToUpper(text))
		require.NoError(t, err)
		require.Equal(t, want.UTC(), got)
		require.True(t, got.Year() >= 1 && got.Year() <= 9999)
	})
}
