package apijson

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestParseIntegerIsExact compares with exact rational arithmetic.
func TestParseIntegerIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,8}|\.0{1,8})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		want, ok := new(big.Rat).SetString(text)
		require.True(t, ok, text)
		n, problem := parseInteger([]byte(text))
		switch {
		case !want.IsInt():
			require.Equal(t, problemWhole, problem, text)
		case !new(big.Int).Abs(want.Num()).IsUint64():
			require.Equal(t, problemRange, problem, text)
		default:
			require.Empty(t, problem, text)
			require.Equal(t, new(big.Int).Abs(want.Num()).Uint64(), n.magnitude, text)
			signed, problem := n.signed(64)
			require.Equal(t, want.Num().IsInt64(), problem == "", text)
			if problem == "" {
				require.Equal(t, want.Num().Int64(), signed, text)
			}
			small, problem := n.signed(32)
			_, err := strconv.ParseInt(want.Num().String(), 10, 32)
			require.Equal(t, err == nil, problem == "", text)
			if err == nil {
				require.Equal(t, want.Num().Int64(), small, text)
			}
			unsigned, problem := n.unsigned(32)
			_, err = strconv.ParseUint(want.Num().String(), 10, 32)
			require.Equal(t, err == nil, problem == "", text)
			if err == nil {
				require.Equal(t, want.Num().Uint64(), unsigned, text)
			}
		}
	})
}

func TestParseIntegerOfExtremes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0e99999999999999999999":                       "", // zero is zero
		"-0.000e-99999999999999999999":                 "",
		"1e99999999999999999999":                       problemRange,
		"1e-99999999999999999999":                      problemWhole,
		"1" + strings.Repeat("0", 5000) + "e-5000":     "",
		"0." + strings.Repeat("0", 5000) + "7e5001":    "",
		"1." + strings.Repeat("0", 5000) + "1":         problemWhole,
		strings.Repeat("9", 5000) + ".5":               problemWhole,
		"18446744073709551615":                         "",
		"18446744073709551616":                         problemRange,
		"184467440737095516150e-1":                     "",
		"1844674407370955161500000000000000000000e-21": problemWhole,
	} {
		_, problem := parseInteger([]byte(text))
		require.Equal(t, want, problem, "%.60s", text)
	}
}
