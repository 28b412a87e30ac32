package mcp

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func named(t *testing.T, id string) operation {
	t.Helper()
	all, err := operations()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(op operation) bool { return op.ID == id })
	require.NotEqual(t, -1, i, id)
	return all[i]
}

func TestATextInPlaceOfAnIntegerIsReadAsOne(t *testing.T) {
	t.Parallel()
	const id = "0195e000-0000-7000-8000-000000000000"
	for _, row := range []struct{ operation, given, want, because string }{
		{"updateProduct", `{"priceAmount":"1500"}`, `{"priceAmount":1500}`, "an integer"},
		{"updateProduct", `{"compareAtAmount":"2000"}`, `{"compareAtAmount":2000}`, "an integer that may be null"},
		{"updateProduct", `{"compareAtAmount":"null"}`, `{"compareAtAmount":null}`, "null in a text"},
		{"updateProduct", `{"compareAtAmount":null,"priceAmount":7}`, `{"compareAtAmount":null,"priceAmount":7}`, "no text"},
		{"updateProduct", `{"priceAmount":"null"}`, `{"priceAmount":"null"}`, "the API refuses a null for this field"},
		{"updateProduct", `{"priceAmount":"12,50","title":"1500"}`, `{"priceAmount":"12,50","title":"1500"}`, "no integer; a text"},
		{"updateProduct", `{"priceAmount":"007"}`, `{"priceAmount":"007"}`, "no JSON number"},
		{"updatePaymentLink", `{"maxPayments":"10","minAmount":" -1 ","amount":"null"}`, `{"maxPayments":10,"minAmount":-1,"amount":null}`,
			"all of a link's"},
		{"createPaymentLink", `{"title":"7","amount":"9007199254740991"}`, `{"title":"7","amount":9007199254740991}`, "every digit"},
	} {
		var given map[string]any
		require.NoError(t, json.Unmarshal([]byte(row.given), &given))
		op := named(t, row.operation)
		if len(op.inPath) > 0 {
			given["id"] = id
		}
		arguments, err := json.Marshal(given)
		require.NoError(t, err)
		r, err := op.request(arguments)
		require.NoError(t, err, row.because)
		require.JSONEq(t, row.want, string(r.body), row.because)
	}
}

func TestAToolSaysWhichFieldsAreDates(t *testing.T) {
	t.Parallel()
	for operation, fields := range map[string][]string{
		"listOrders": {"from", "to"}, "createPaymentLink": {"expiresAt"}, "updatePaymentLink": {"expiresAt"},
	} {
		properties := named(t, operation).schema["properties"].(map[string]any)
		for _, field := range fields {
			require.Equal(t, "date-time", properties[field].(map[string]any)["format"], "%s.%s", operation, field)
		}
		for name, property := range properties {
			format, _ := property.(map[string]any)["format"].(string)
			require.Contains(t, []string{"", "date-time"}, format, "%s.%s", operation, name)
		}
	}
}
