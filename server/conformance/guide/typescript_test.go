package guide_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

// parts names the modules of the guide's TypeScript blocks that testdata/main.ts imports, by section.
var parts = map[string]string{
	"Quick start": "start.ts", "Errors": "errors.ts", "Lists and syncs": "lists.ts", verifying: "receiver.ts",
	"Typed clients": "typed.ts",
}

// compilerSettings is what the README of the package tells a reader.
const compilerSettings = "tsc --init --module nodenext --types node"

func runTypeScript(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	modules := devtest.NeedNode(t, "typescript", "typescript-7", "@types/node", "@bufbuild/protobuf", "@connectrpc/connect",
		"@connectrpc/connect-node")
	// In node_modules Node finds what storefront-client depends on.
	folder, err := os.MkdirTemp(modules, ".storefront-guide-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("package.json", `{"type":"module"}`)
	for _, b := range in(all, "ts") {
		name := parts[b.section]
		require.NotEmpty(t, name, b.section)
		require.NoFileExists(t, filepath.Join(folder, name), "one block a section")
		write(name, b.text)
	}
	main, err := os.ReadFile(filepath.Join("testdata", "main.ts"))
	require.NoError(t, err)
	write("main.ts", string(main))
	calls := ""
	for _, s := range samples(t, dev, "ts") {
		write("sample-"+s.operation+".ts", s.text)
		calls += fmt.Sprintf("process.stdout.write(%q);\nawait import(%q);\n", s.operation+": ", "./sample-"+s.operation+".js")
	}
	write("samples.ts", calls+"export {};\n")

	node := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "node", args...)
		command.Dir, command.Stdin = folder, bytes.NewReader(w.body)
		return output(t, command, variables(dev, w)...)
	}
	node(filepath.Join(devtest.Root(t), "client", "typescript", "build.js"), filepath.Join(folder, "node_modules",
		"storefront-client"))
	readme, err := os.ReadFile(filepath.Join(devtest.Root(t), "client", "typescript", "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), "\nnpx "+compilerSettings+"\n")
	tsc := filepath.Join(modules, "typescript-7", "bin", "tsc")
	node(append([]string{tsc}, strings.Fields(compilerSettings)[1:]...)...)
	node(tsc)
	require.Greater(t, strings.Count(node("start.js"), "XAF\n"), 3, "the published products")
	require.Equal(t, results, node("main.js"))
	requireResults(t, node("samples.js"))
	runReceiver(t, dev, w, folder, "node", "receiver.js")
}
