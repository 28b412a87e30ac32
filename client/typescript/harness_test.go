// Package typescript_test builds the TypeScript package, and runs the tests in test/ and the programs in testdata/program/
// against a development server. It needs Node and the npm packages that package-lock.json pins.
package typescript_test

import (
	"path/filepath"
	"testing"

	"go.storefront.example/server/conformance/devtest"
)

// needNode returns the folder of the npm packages that the tests need.
func needNode(t *testing.T) (modules string) {
	t.Helper()
	return devtest.NeedNode(t, "typescript", "typescript-7", "@types/node", "esbuild", "@bufbuild/protobuf", "@connectrpc/connect",
		"@connectrpc/connect-node", "@connectrpc/connect-web", "stripe")
}

func node(t *testing.T, folder string, variables []string, args ...string) string {
	t.Helper()
	return devtest.Run(t, folder, variables, "node", args...)
}

// tested returns the paths of the test vectors and of the file with the error codes, but no service's address.
func tested(t *testing.T) []string {
	t.Helper()
	top := devtest.Root(t)
	return []string{
		"STOREFRONT_VECTORS=" + filepath.Join(top, "worker", "signature", "testdata", "vectors.json"),
		"STOREFRONT_REFUSALS=" + filepath.Join(top, "server", "apierr", "apierr.go"),
	}
}
