package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnswersAreCompared(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why                string
		service, yardstick string
		form               func(any) any
		err                string
		more               []string
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, whole, "", nil},
		{"a field of the product does not wait for the yardstick", `{"a":[{"b":1,"note":{"x":1}}],"c":2}`, `{"a":[{"b":1}]}`, whole, "", []string{"order.a[].note", "order.c"}},
		{"a field that the service lost", `{"a":1}`, `{"a":1,"b":null}`, whole, "order.b: missing from the service", nil},
		{"another value", `{"a":[{"b":1}]}`, `{"a":[{"b":2}]}`, whole, "order.a[].b: 1 from the service, 2 from the yardstick", nil},
		{"a number of another form", `{"a":5}`, `{"a":5.0}`, whole, "order.a", nil},
		{"a number as text", `{"a":5}`, `{"a":"5"}`, whole, "order.a", nil},
		{"another length", `{"a":[1,2]}`, `{"a":[1]}`, whole, "order.a", nil},
		{"an object for null", `{"a":{}}`, `{"a":null}`, whole, "order.a", nil},
		{"null for an object", `{"a":null}`, `{"a":{}}`, whole, "order.a", nil},
		{"no JSON", `{`, `{}`, whole, "side 0", nil},
		{
			"ids, dates and numbers vary", `{"id":"019a0c5e-7b1c-7c3e-8f00-00000000000a","at":"2026-09-01T12:00:00.000Z","n":1}`,
			`{"id":"019a0c5e-7b1c-7c3e-8f00-00000000000b","at":"2026-09-02T13:00:00.001Z","n":25}`, masked, "", nil,
		},
		{"a name does not", `{"name":"Ada"}`, `{"name":"Bob"}`, masked, "order.name", nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			c := comparison{map[string]bool{}}
			err := c.equal("order", []byte(row.service), []byte(row.yardstick), row.form)
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.more, slices.Sorted(maps.Keys(c.more)))
		})
	}
}
