package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file on standard input is not overwritten by --errors.
func TestErrorsAreNotWrittenToStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "products.csv")
	require.NoError(t, os.WriteFile(path, []byte("title,price\nA,1\n"), 0o600))
	in, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close() })
	var errs bytes.Buffer
	unset := func(string) (string, bool) { return "", false }
	code := run(t.Context(), []string{"import", "--store", "s", "--errors", path, "products", "-"}, unset, in, io.Discard, &errs)
	require.Equal(t, 2, code)
	require.Contains(t, errs.String(), "is the file to import, which it would overwrite")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "title,price\nA,1\n", string(text))
}
