package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

func TestASecretsFileHasOneLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ content, want, refused string }{
		{content: "s3cret", want: "s3cret"},
		{content: "s3cret\n", want: "s3cret"},
		{content: "s3cret\r\n", want: "s3cret"},
		{content: " s3cret ", want: " s3cret "}, // spaces belong to the secret, as in a variable
		{content: "s3cret\n\n", refused: "must have one line"},
		{content: "s3cret\nother\n", refused: "must have one line"},
		{content: "", refused: "is empty"},
		{content: "\r\n", refused: "is empty"},
		{content: strings.Repeat("s", maxSecretBytes+1), refused: "must have one line"},
	} {
		path := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(path, []byte(row.content), 0o600))
		got, err := readSecret(path)
		if row.refused != "" {
			require.ErrorContains(t, err, row.refused, "%q", row.content)
			continue
		}
		require.NoError(t, err, "%q", row.content)
		require.Equal(t, row.want, got)
	}
	_, err := readSecret(t.TempDir())
	require.Error(t, err, "a folder")
}

func TestASecretsFileIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mode does not say who can read a file on Windows")
	}
	for mode, accepted := range map[os.FileMode]bool{
		// Files from systemd, files from Kubernetes with fsGroup, and storefront.env have some of these modes.
		0o400: true, 0o440: true, 0o600: true, 0o640: true, 0o660: true,
		// By default Docker and Kubernetes give the files of secrets some of these modes.
		0o444: false, 0o644: false, 0o604: false, 0o602: false, 0o666: false,
	} {
		path := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(path, []byte("s"), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		_, err := readSecret(path)
		require.Equal(t, accepted, err == nil, "%#o: %v", mode, err)
	}
}

// Every flag whose name looks like a secret has the tag secretTag, also flags that will be added.
func TestEverySecretCanBeInAFile(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	looksSecret := regexp.MustCompile(`secret|token|password|^database-url$|proxy$`)
	found := map[string]bool{}
	for _, flag := range flagsOf(parser.Model.Node) {
		if looksSecret.MatchString(flag.Name) && !flag.IsBool() {
			require.True(t, flag.Tag.Has(secretTag), "--%s lacks the tag %s", flag.Name, secretTag)
			require.Contains(t, describe(flag.Value), variable(flag.Name)+fileSuffix)
			found[flag.Name] = true
		}
	}
	require.Len(t, found, 8)
}
