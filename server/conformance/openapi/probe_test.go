package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/openapi"
)

func operation(t *testing.T, id string) *openapi.Operation {
	t.Helper()
	for _, op := range read(t).Operations() {
		if op.ID == id {
			return op
		}
	}
	require.FailNow(t, "no such operation", id)
	return nil
}

// verdicts returns whether the document allows each probe, by its query and body.
func verdicts(op *openapi.Operation) map[string]bool {
	out := map[string]bool{}
	for _, probe := range op.Probes() {
		out[probe.URL.RawQuery+string(probe.RequestBody)] = op.Allows(probe.Exchange) == nil
	}
	return out
}

func TestProbesOfABody(t *testing.T) {
	t.Parallel()
	got := verdicts(operation(t, "createBook"))
	for body, allowed := range map[string]bool{
		`{"price":5,"title":"Café"}`:                true,  // the example
		`{"price":5}`:                               false, // a required property is missing
		`{"title":"Café"}`:                          true,  // an optional property is missing
		`{"price":5,"title":null}`:                  false,
		`{"price":null,"title":"Café"}`:             true,
		`{"price":true,"title":"Café"}`:             false,
		`{"price":1.5,"title":"Café"}`:              false,
		`{"price":-1,"title":"Café"}`:               false, // below the minimum
		`{"price":9007199254740991,"title":"Café"}`: true,  // the maximum
		`{"price":9007199254740992,"title":"Café"}`: false, // above the maximum
		`{"price":5,"title":""}`:                    false,
		`{"price":5,"title":"ééééé"}`:               true,
		`{"price":5,"title":"éééééé"}`:              false,
		`{"kind":"PAPER","price":5,"title":"Café"}`: true,
		`{"kind":"paper","price":5,"title":"Café"}`: false,
		`{"madeAt":"x","price":5,"title":"Café"}`:   false, // a property of answers only
		`{"price":5,"title":"Café","unknown":"x"}`:  false,
		`null`:                         false,
		`[]`:                           false,
		`[{"price":5,"title":"Café"}]`: false,
	} {
		verdict, asked := got[body]
		require.True(t, asked, body)
		require.Equal(t, allowed, verdict, body)
	}
}

func TestProbesOfAQuery(t *testing.T) {
	t.Parallel()
	got := verdicts(operation(t, "listBooks"))
	for query, allowed := range map[string]bool{
		"pageSize=0": false, "pageSize=1": true, "pageSize=100": true, "pageSize=101": false, "pageSize=1&pageSize=1": false,
		"pageSize=1.5": false, "pageSize=": false, "PAGESIZE=1": false, "unknown=1": false, "kind=SOUND": true, "kind=sound": false,
		"q=%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9": true, "q=%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9": false,
	} {
		verdict, asked := got[query]
		require.True(t, asked, query)
		require.Equal(t, allowed, verdict, query)
	}
	require.Empty(t, operation(t, "getBook").Examples()[0].RequestBody)
	require.Empty(t, operation(t, "listBooks").Defaults())
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		schema, value string
		valid         bool
	}{
		{`{format: int32}`, `2147483647`, true},
		{`{format: int32}`, `2147483648`, false},
		{`{format: int32}`, `1.5`, false},
		{`{format: int32}`, `"x"`, true}, // the format applies to numbers only
		{`{format: int64}`, `9223372036854775807`, true},
		{`{format: int64}`, `9223372036854775808`, false},
		{`{format: int64}`, `1e30`, false},
		{`{format: uri}`, `"https://cdn.example/caf%C3%A9.png?a=b#c"`, true},
		{`{format: uri}`, `"https://cdn.example/café.png"`, false},
		{`{format: uri}`, `"/cafe.png"`, false},
		{`{format: uri}`, `"https://cdn.example/%zz"`, false},
		{`{format: uri}`, `5`, true},
	} {
		d, err := openapi.Read([]byte(`{components: {schemas: {Error: {}}}, paths: {/v1/x: {get: {operationId: x, responses: {'200':
			{content: {application/json: {schema: ` + row.schema + `}}}}}}}}`))
		require.NoError(t, err)
		x := exchange(t, "GET /v1/x", "", 200, row.value)
		x.Header.Del("X-Left")
		require.Equal(t, row.valid, d.Check(x) == nil, "%s %s", row.schema, row.value)
	}
}
