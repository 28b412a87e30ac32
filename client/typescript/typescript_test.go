package typescript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

// TestTypeScript runs each file of test/ as a test of its own. All are compiled with the strictest
// types first, and lie within node_modules then, from where Node finds the packages.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	modules := needNode(t)
	storefront := devtest.Build(t)
	out, err := os.MkdirTemp(modules, ".storefront-client-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(out)) })
	require.NoError(t, os.WriteFile(filepath.Join(out, "package.json"), []byte(`{"type":"module"}`), 0o600))
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	node(t, ".", nil, compiler, "--project", "test", "--noEmit", "false", "--outDir", out)

	files, err := filepath.Glob(filepath.Join(out, "client", "typescript", "test", "*.test.js"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			variables := tested(t)
			if strings.Contains(string(text), "STOREFRONT_URL") || strings.Contains(string(text), "STOREFRONT_ADMIN_URL") {
				// A service of its own, because of the minute's limit and of what each one changes.
				variables = append(variables, storefront.Start(t).Variables()...)
			}
			output := node(t, ".", variables, "--test", "--test-reporter=tap", file)
			require.Regexp(t, `(?m)^# pass [1-9]`, output, "a run that tests nothing passes nothing")
		})
	}
}
