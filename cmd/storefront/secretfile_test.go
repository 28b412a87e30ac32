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

// Also flags that will be added, if the name looks like a secret.
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

// A settings file that others can read may have settings, but no secret.
func TestASecretInASettingsFileThatOthersCanRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mode does not say who can read a file on Windows")
	}
	const token = "0123456789abcdef0123456789abcdef"
	for content, secret := range map[string]bool{
		"admin-token: " + token:                                               true,
		"old-secret-keys: [" + token + "]":                                    true,
		"secret-key: " + token:                                                true,
		"database-url: postgres://ada:canary@127.0.0.1:1/x":                   true,
		"database-url: postgres://127.0.0.1:1/x?user=ada&password=canary":     true,
		"database-url: postgres://ada@127.0.0.1:1/x":                          false,
		"database-url: sqlite:nowhere.db\nadmin-addr: 127.0.0.1:0":            false,
		"egress-proxy: none\ndatabase-url: sqlite:nowhere.db":                 false,
		"egress-proxy: http://ada:canary@proxy.example:3128":                  true,
		"notices-secret: whsec_" + token + token + "\nnotices-url: https://x": true,
	} {
		path := filepath.Join(t.TempDir(), "storefront.yaml")
		require.NoError(t, os.WriteFile(path, []byte(content+"\n"), 0o600))
		for mode, refused := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: secret, 0o602: secret} {
			require.NoError(t, os.Chmod(path, mode))
			out, err := installation{t, nil}.command("storefront", "worker", "--config", path).CombinedOutput()
			require.Error(t, err, "none of these settings starts a worker")
			require.Equal(t, refused, strings.Contains(string(out), "chmod o="), "%s with %#o: %s", content, mode, out)
			require.NotContains(t, string(out), "canary")
		}
	}
}
