package typescript_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// snippet matches a block of TypeScript in a Markdown page.
var snippet = regexp.MustCompile("(?s)```ts\n(.*?)```")

// TestProgramInAnEmptyProject installs the package as it would be published in an empty npm project. A caller's program, with
// import and with require, lists three pages, gets a 422, changes a product, and verifies the event of its change. Another
// makes typed calls over Connect, gRPC-Web and gRPC.
func TestProgramInAnEmptyProject(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it installs the TypeScript client in a project of its own")
	modules := needNode(t)
	project := install(t, modules)
	ownPaths(t, project)
	types := filepath.Join(modules, "@types")

	// Compile the README's examples as they stand.
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := snippet.FindAllSubmatch(readme, -1)
	require.NotEmpty(t, blocks)
	for i, block := range blocks {
		require.NoError(t, os.WriteFile(filepath.Join(project, fmt.Sprintf("readme%d.ts", i)), block[1], 0o600))
	}

	// With a bundler's, Node's and node10's way of resolving a package, and with the compiler that built the package and the
	// one before it.
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	node(t, project, nil, filepath.Join(modules, "typescript-7", "bin", "tsc"), "--typeRoots", types, "--noEmit",
		"--module", "ES2022", "--moduleResolution", "bundler")
	node(t, project, nil, compiler, "--typeRoots", types, "--noEmit", "--module", "ES2022", "--moduleResolution", "node10")
	node(t, project, nil, compiler, "--typeRoots", types)
	require.FileExists(t, filepath.Join(project, "main.js"))

	storefront := devtest.Build(t)
	for _, program := range []string{"main.js", "main.cjs"} {
		t.Run(program, func(t *testing.T) {
			server := storefront.Start(t)
			free, err := cluster.FreePort()
			require.NoError(t, err)
			port := strconv.Itoa(free)
			if program == "main.js" {
				typed := node(t, project, server.Variables(), "connect.js")
				for _, protocol := range []string{"Connect", "gRPC-Web", "gRPC"} {
					require.Contains(t, typed, protocol+" 12n 422 product_incomplete [ 'content' ] true\n")
				}
			}
			webhook := server.Register(t, "http://127.0.0.1:"+port, "product.archived")
			output := node(t, project, append(server.Variables(), "WEBHOOK_SECRET="+webhook.Secret, "PORT="+port), program)
			for _, line := range []string{
				`products 12`,
				`refused 422 product_incomplete \[ 'content' \]`,
				`refused no_signature`,
				`forged 400`,
				`archived The last one \d+ XAF`,
				`event product\.archived The last one`,
			} {
				require.Regexp(t, `(?m)^`+line+`$`, output)
			}
		})
	}
}

// install packs a copy of the sources without node_modules, as in a fresh clone. The peer dependencies are packed from
// node_modules, so that their versions are pinned and no registry is asked.
func install(t *testing.T, modules string) string {
	t.Helper()
	folder, top := t.TempDir(), devtest.Root(t)
	clone, project := filepath.Join(folder, "clone"), filepath.Join(folder, "project")
	for _, part := range []string{filepath.Join("client", "typescript"), filepath.Join("gen", "ts")} {
		require.NoError(t, os.CopyFS(filepath.Join(clone, part), os.DirFS(filepath.Join(top, part))))
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(top, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(clone, name), text, 0o600))
	}
	npm(t, filepath.Join(clone, "client", "typescript"), "pack", "--pack-destination", folder)
	for _, peer := range []string{"@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node"} {
		npm(t, filepath.Join(modules, filepath.FromSlash(peer)), "pack", "--ignore-scripts", "--pack-destination", folder)
	}
	require.NoError(t, os.CopyFS(project, os.DirFS(filepath.Join("testdata", "program"))))
	require.NoError(t, os.WriteFile(filepath.Join(project, "package.json"),
		[]byte(`{"name":"program","private":true,"type":"module"}`), 0o600))
	tarballs, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, tarballs, 4)
	npm(t, project, append([]string{"install", "--offline", "--no-audit", "--no-fund"}, tarballs...)...)
	return project
}

// ownPaths requires that no path in the package names a folder of this repository, and that each module has a source map.
func ownPaths(t *testing.T, project string) {
	t.Helper()
	installed := filepath.Join(project, "node_modules", "storefront-client")
	modules := 0
	require.NoError(t, filepath.WalkDir(installed, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(installed, path)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotRegexp(t, `client|typescript|gen/ts`, filepath.ToSlash(relative))
		if strings.HasSuffix(path, ".js") {
			modules++
			require.NotContains(t, string(text), "gen/ts", relative)
			if !strings.HasPrefix(entry.Name(), "connect.") {
				require.NotRegexp(t, `(from |require\()"@connectrpc/`, string(text), "%s: only connect.js needs what npm does not install",
					relative)
			}
			require.FileExists(t, path+".map")
		}
		return nil
	}))
	require.Greater(t, modules, 40, "of both kinds")
}

func npm(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	devtest.Run(t, folder, []string{"npm_config_prefer_offline=true"}, "npm", arguments...)
}
