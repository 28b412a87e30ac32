package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A page of the longest objects is shortened to maxResultBytes, and every cut is marked.
func TestALargePageIsCut(t *testing.T) {
	t.Parallel()
	item := fmt.Sprintf(`{"id":"1","amount":9007199254740991,"note":null,"text":%q,"items":[1,2,3,4,5]}`, strings.Repeat("ü<", 5000))
	page := `{"page":1,"pageSize":100,"total":100,"data":[` + strings.Repeat(item+",", 99) + item + `]}`
	text, err := shorten([]byte(page))
	require.NoError(t, err)
	require.Less(t, len(text), maxResultBytes)
	require.NotContains(t, text, "note")
	require.Contains(t, text, `"amount":9007199254740991`)
	require.Contains(t, text, `"items":[1,2,3,"… (cut: 5 in all)"]`)
	require.Contains(t, text, "ü<… (cut: 10000 characters)")
	require.NotContains(t, text, `"cut"`)

	text, err = shorten([]byte(strings.ReplaceAll(page, `"id":"1"`, `"id":"1","more":{"a":`+strings.Repeat(`{"a":"`+strings.Repeat("x", 150)+`","b":`, 5)+
		`1`+strings.Repeat("}", 5)+"}")))
	require.NoError(t, err)
	require.Less(t, len(text), maxResultBytes)
	require.Contains(t, text, `"cut":"only the first 42 of this page's 100 are shown; ask for a smaller pageSize"`)

	_, err = shorten([]byte(`[]`))
	require.Error(t, err)
	whole, err := shorten([]byte(`{"a":null,"b":"","c":[]}`))
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(whole)))
	require.Equal(t, `{"a":null,"b":"","c":[]}`, whole)
}

func TestOperationsAreWhole(t *testing.T) {
	t.Parallel()
	all, err := operations()
	require.NoError(t, err)
	for _, op := range all {
		require.NotEmpty(t, op.Scope, op.ID)
		schema, err := json.Marshal(op.schema)
		require.NoError(t, err)
		require.NotRegexp(t, `\$ref|"pattern"|"x-`, string(schema), op.ID)
		// A probe names an object that does not exist, or has a body that the service refuses.
		probe := op.probe()
		require.True(t, op.reads() || strings.Contains(probe.path, noID) || string(probe.body) == "[]", op.ID)
		require.NotContains(t, probe.path, "{")
	}
}
