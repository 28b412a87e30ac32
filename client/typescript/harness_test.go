// Package typescript_test builds the TypeScript package and runs its tests, and programs that
// install it, against the development server in its own process. It needs Node and the packages
// that package-lock.json pins; its assertions are in test/ and testdata/program/.
package typescript_test

import (
	"path/filepath"
	"testing"

	"go.storefront.example/server/conformance/devtest"
)

// needNode asks for Node and what the tests need of npm's, and returns where that is.
func needNode(t *testing.T) (modules string) {
	t.Helper()
	return devtest.NeedNode(t, "typescript", "@types/node", "esbuild", "@bufbuild/protobuf", "@connectrpc/connect",
		"@connectrpc/connect-node", "@connectrpc/connect-web", "stripe")
}

// node runs a script of Node's in a folder and returns what it prints.
func node(t *testing.T, folder string, variables []string, args ...string) string {
	t.Helper()
	return devtest.Run(t, folder, variables, "node", args...)
}

// tested returns the environment of Node's tests beside the service to test: the values to compare
// with.
func tested(t *testing.T) []string {
	t.Helper()
	top := devtest.Top(t)
	return []string{
		"STOREFRONT_VECTORS=" + filepath.Join(top, "worker", "signature", "testdata", "vectors.json"),
		"STOREFRONT_REFUSALS=" + filepath.Join(top, "server", "apierr", "apierr.go"),
	}
}
