package apijson

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAppendStringIsEncodingJSON compares any bytes at all with encoding/json without HTML
// escaping.
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

// TestAppendFloatIsEncodingJSON compares any number, and those where the form changes.
func TestAppendFloatIsEncodingJSON(t *testing.T) {
	t.Parallel()
	compare := func(t require.TestingT, n float64) {
		want, err := json.Marshal(n)
		if err != nil {
			want = []byte("null") // NaN and the infinities
		}
		require.Equal(t, string(want), string(appendFloat(nil, n, 64)))
		if want, err = json.Marshal(float32(n)); err != nil {
			want = []byte("null")
		}
		require.Equal(t, string(want), string(appendFloat(nil, float64(float32(n)), 32)))
	}
	for _, n := range []float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e-7, 1.5e-10, 1e20, 9.99e20, 1e21, 1e-300,
		math.MaxFloat64} {
		compare(t, n)
		compare(t, -n)
	}
	rapid.Check(t, func(t *rapid.T) { compare(t, rapid.Float64().Draw(t, "n")) })
	require.Equal(t, "10", string(appendFloat(nil, 10, 64)))
	require.Equal(t, "2.5", string(appendFloat(nil, 2.5, 64)))
}
