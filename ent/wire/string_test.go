package wire

import (
	"bytes"
	"encoding/json"
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

func TestAppendFloatIsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Float64().Draw(t, "n")
		want, err := json.Marshal(n)
		if err != nil {
			want = []byte("null") // NaN and the infinities
		}
		require.Equal(t, string(want), string(appendFloat(nil, n, 64)))
		f := rapid.Float32().Draw(t, "f")
		if want, err = json.Marshal(f); err != nil {
			want = []byte("null")
		}
		require.Equal(t, string(want), string(appendFloat(nil, float64(f), 32)))
	})
	require.Equal(t, "10", string(appendFloat(nil, 10, 64)))
	require.Equal(t, "2.5", string(appendFloat(nil, 2.5, 64)))
}
