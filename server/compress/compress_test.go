package compress_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/compress"
)

func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"GZIP"}, true},
		{[]string{"x-gzip"}, true}, // RFC 9110, section 8.4.1.3
		{[]string{"br, gzip;q=0.8"}, true},
		{[]string{"br", "gzip"}, true},
		{[]string{"gzip ; Q=1.0"}, true},
		{[]string{"*"}, true},
		{[]string{"identity;q=1, *;q=0"}, false},
		{[]string{"*, gzip;q=0"}, false},
		{[]string{"gzip;q=0, *"}, false},
		{[]string{"gzip; q=0.000"}, false},
		{[]string{"gzip;q=0.001"}, true},
		{[]string{"gzip;q=many"}, false},
		{[]string{"gzip;level=9"}, false},
		{[]string{"gzipped, deflate, identity"}, false},
	} {
		t.Run(strings.Join(row.lines, " | "), func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			if row.lines != nil {
				header["Accept-Encoding"] = row.lines
			}
			require.Equal(t, row.want, compress.Accepted(header))
		})
	}
}

// TestGzip reads what was compressed with another library, several at once.
func TestGzip(t *testing.T) {
	t.Parallel()
	for size := range 20 {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			plain := bytes.Repeat([]byte(`{"id":"1","title":"Don"},`), 1<<size/8)
			require.NoError(t, compress.Gzip(plain, func(packed []byte) error {
				reader, err := gzip.NewReader(bytes.NewReader(packed))
				require.NoError(t, err)
				got, err := io.ReadAll(reader)
				require.NoError(t, err)
				require.Equal(t, string(plain), string(got))
				return nil
			}))
		})
	}
}
