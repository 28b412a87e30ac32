package typescript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// TestTypeScript compiles test/ with the strictest settings, and runs each file as a subtest, in node_modules, where Node finds
// the packages.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it compiles and runs the tests of the TypeScript client")
	modules := needNode(t)
	storefront := devtest.Build(t)
	out, err := os.MkdirTemp(modules, ".storefront-client-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(out)) })
	require.NoError(t, os.WriteFile(filepath.Join(out, "package.json"), []byte(`{"type":"module"}`), 0o600))
	compiler := filepath.Join(modules, "typescript-7", "bin", "tsc")
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
				// The tests of a file change the service's data and use up its rate limit.
				variables = append(variables, storefront.Start(t).Variables()...)
			}
			output := node(t, ".", variables, "--test", "--test-reporter=tap", file)
			require.Regexp(t, `(?m)^# pass [1-9]`, output, "a run that tests nothing passes nothing")
		})
	}
}
