package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/importing"
)

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, "orders", 100)
	p.show(importing.Progress{Lines: 1, Bytes: 50})
	p.end()
	require.Empty(t, out.String())
}

func TestProgressDrawsWhatIsDone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		size   int64
		bytes  int64
		want   string
	}{
		{"half is half", 1000, 500, "checking orders [" + strings.Repeat("#", 20) + strings.Repeat(" ", 20) + "] 7 lines"},
		{"nothing is an empty bar", 1000, 0, "checking orders [" + strings.Repeat(" ", 40) + "] 7 lines"},
		{"a last line without its end counts one byte too many", 1000, 1001, "checking orders [" + strings.Repeat("#", 40) +
			"] 7 lines"},
		{"standard input has no size", -1, 500, "checking orders 7 lines"},
		{"an empty file is no division by zero", 0, 0, "checking orders 7 lines"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var out bytes.Buffer
			p := progress{&out, "orders", row.size}
			p.show(importing.Progress{Lines: 7, Bytes: row.bytes})
			require.Equal(t, eraseLine+row.want, out.String())
			p.end()
			require.True(t, strings.HasSuffix(out.String(), eraseLine))
		})
	}
}
