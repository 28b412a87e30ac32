package apijson

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestIntegerIsExact compares integer() with exact rational arithmetic.
func TestIntegerIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,8}|\.0{1,8})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		want, ok := new(big.Rat).SetString(text)
		require.True(t, ok, text)
		n, problem := integer(text)
		switch {
		case !want.IsInt():
			require.Equal(t, problemInteger, problem, text)
		case !want.Num().IsInt64():
			require.Equal(t, problemRange, problem, text)
		default:
			require.Empty(t, problem, text)
			require.Equal(t, want.Num().Int64(), n, text)
		}
	})
}

func TestIntegerOfExtremes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0e99":                                     "",
		"1e99999999999999999999":                   problemRange,
		"1e-99999999999999999999":                  problemInteger,
		"1" + strings.Repeat("0", 300) + "e-300":   "",
		"1." + strings.Repeat("0", 300) + "1":      problemInteger,
		strings.Repeat("9", 5000) + ".5":           problemRange,
		"9223372036854775807":                      "",
		"9223372036854775808":                      problemRange,
		"92233720368547758070e-1":                  "",
		"922337203685477580700000000000000000e-21": problemInteger,
	} {
		_, problem := integer(text)
		require.Equal(t, want, problem, "%.60s", text)
	}
}
