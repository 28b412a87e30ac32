package main

import (
	"archive/tar"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// The decoder reads ahead, and may still read the archive's end when the import goes back to its beginning.
func TestAnArchiveIsReadAgainWhileItsEndIsDecompressed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+archiveSuffix)
	out, err := os.Create(path)
	require.NoError(t, err)
	compressed, err := zstd.NewWriter(out)
	require.NoError(t, err)
	archive := tar.NewWriter(compressed)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: "store.ndjson", Mode: 0o600, Size: 3}))
	_, err = archive.Write([]byte("{}\n"))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	_, err = io.CopyN(compressed, rand.Reader, 32<<20)
	require.NoError(t, err)
	require.NoError(t, compressed.Close())
	require.NoError(t, out.Close())

	for range 20 {
		files, err := openArchive(path)
		require.NoError(t, err)
		for range 5 {
			_, in, err := files.next()
			for err == nil {
				_, err = io.Copy(io.Discard, in)
				require.NoError(t, err)
				_, in, err = files.next()
			}
			require.ErrorIs(t, err, io.EOF)
			in, err = files.open("store.ndjson")
			require.NoError(t, err)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			require.Equal(t, "{}\n", string(text))
		}
		require.NoError(t, files.Close())
	}
}
