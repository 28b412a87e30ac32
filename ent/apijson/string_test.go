package apijson

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// TestAppendStringIsEncodingJSON has random bytes, without HTML escaping.
func TestAppendStringIsEncodingJSON(t *testing.T) {
	t.Parallel()
	compare := func(t require.TestingT, s string) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(s))
		require.Equal(t, want.String(), string(AppendString(nil, s))+"\n")
	}
	compare(t, "\u2028 \u2029 \x00 \x1f \x7f \b\f\n\r\t \" \\ / <>& \xff é 日本 🎉 \xed\xa0\x80 \ufffd")
	rapid.Check(t, func(t *rapid.T) {
		compare(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		compare(t, rapid.String().Draw(t, "text"))
	})
}

// TestAppendFloatIsEncodingJSON has random numbers, and those at which the form changes, such as 1e21.
func TestAppendFloatIsEncodingJSON(t *testing.T) {
	t.Parallel()
	f := &field{shape: shapeFloat}
	compare := func(t require.TestingT, n float64) {
		want, err := json.Marshal(n)
		require.NoError(t, err)
		require.Equal(t, string(want), string(f.appendValue(nil, protoreflect.ValueOfFloat64(n))))
	}
	for _, n := range []float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e-7, 1.5e-10, 1e20, 9.99e20, 1e21, 1e-300,
		math.MaxFloat64} {
		compare(t, n)
		compare(t, -n)
	}
	rapid.Check(t, func(t *rapid.T) { compare(t, rapid.Float64().Draw(t, "n")) })
}
