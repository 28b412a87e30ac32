package typescript_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

// snippet is a block of TypeScript in a page.
var snippet = regexp.MustCompile("(?s)```ts\n(.*?)```")

// TestProgramInAnEmptyProject packs the package as it would be published, installs it in an empty
// npm project and runs a caller's programs there, as a module and by require: they list three pages,
// are refused by a 422, change a product, and verify the event that the worker of dev delivers.
func TestProgramInAnEmptyProject(t *testing.T) {
	t.Parallel()
	modules := needNode(t)
	project := install(t, modules)
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	types := filepath.Join(modules, "@types")

	// What the package's page shows is checked as well; around it are a handler's request and an id.
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	const around = `import type { IncomingMessage } from "node:http";
declare const id: string, request: IncomingMessage, rawBody: Buffer;
`
	blocks := snippet.FindAllSubmatch(readme, -1)
	require.NotEmpty(t, blocks)
	var files []string
	for i, block := range blocks {
		file := fmt.Sprintf("readme%d.ts", i)
		require.NoError(t, os.WriteFile(filepath.Join(project, file), append([]byte(around), block[1]...), 0o600))
		files = append(files, file)
	}
	node(t, project, nil, append([]string{
		compiler, "--typeRoots", types, "--types", "node", "--noEmit", "--strict", "--target", "ES2022", "--module", "NodeNext",
	}, files...)...)

	// Programs resolve a package in one of two ways; the compiler checks its types for both.
	node(t, project, nil, compiler, "--typeRoots", types, "--noEmit", "--module", "ES2022", "--moduleResolution", "bundler")
	node(t, project, nil, compiler, "--typeRoots", types)
	require.FileExists(t, filepath.Join(project, "main.js"))

	storefront := devtest.Build(t)
	for _, program := range []string{"main.js", "main.cjs"} {
		t.Run(program, func(t *testing.T) {
			server, port := storefront.Start(t), freePort(t)
			webhook := server.Register(t, "http://127.0.0.1:"+port, "product.archived")
			said := node(t, project, append(server.Variables(), "WEBHOOK_SECRET="+webhook.Secret, "PORT="+port), program)
			for _, line := range []string{
				`products 12`,
				`refused 422 product_incomplete \[ 'content' \]`,
				`refused no_signature`,
				`forged 400`,
				`archived The last one \d+ XAF`,
				`event product\.archived The last one`,
			} {
				require.Regexp(t, `(?m)^`+line+`$`, said)
			}
		})
	}
}

// install makes an empty project with the packed package in it. What the package depends on is packed
// from node_modules too, so that nothing is asked of a registry and the version is the pinned one.
func install(t *testing.T, modules string) string {
	t.Helper()
	folder := t.TempDir()
	built, project := filepath.Join(folder, "package"), filepath.Join(folder, "project")
	node(t, ".", nil, "build.js", built)
	for _, packed := range []string{built, filepath.Join(modules, "@bufbuild", "protobuf")} {
		npm(t, packed, "pack", "--ignore-scripts", "--pack-destination", folder)
	}
	require.NoError(t, os.CopyFS(project, os.DirFS(filepath.Join("testdata", "program"))))
	require.NoError(t, os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"name":"program","private":true,"type":"module"}`), 0o600))
	tarballs, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, tarballs, 2)
	npm(t, project, append([]string{"install", "--offline", "--no-audit", "--no-fund"}, tarballs...)...)
	return project
}

func npm(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	devtest.Run(t, folder, nil, "npm", arguments...)
}

// freePort is a port that nothing listens on. The system hands them out in turn, so that the program
// finds it free a moment later.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}
