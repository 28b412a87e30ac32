package file

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
)

// A published table knows what each byte means.
func TestEveryByteOfWindows1252(t *testing.T) {
	t.Parallel()
	for b := 0x80; b <= 0xff; b++ {
		text, err := io.ReadAll(decoded(bytes.NewReader([]byte{byte(b), '.'})))
		require.NoError(t, err)
		require.Equal(t, string(charmap.Windows1252.DecodeByte(byte(b)))+".", string(text), "%#x", b)
	}
}
