package guide_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parts are the modules that the blocks in TypeScript become, by section; testdata/main.ts imports them.
var parts = map[string]string{
	"Quick start": "start.ts", "Changes": "changes.ts", "Errors": "errors.ts", "Lists": "lists.ts", webhooks: "receiver.ts",
}

// compilerOptions are as strict as a reader may have them.
const compilerOptions = `{
  "compilerOptions": {
    "target": "ES2022", "lib": ["ES2023"], "module": "NodeNext", "types": ["node"], "strict": true,
    "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true, "noImplicitReturns": true, "noFallthroughCasesInSwitch": true
  },
  "include": ["*.ts"]
}`

// runTypeScript compiles the blocks beside the package as npm would install it, and runs them.
func runTypeScript(t *testing.T, all []block, d dev, h *hook) {
	needs(t, "node")
	modules, err := filepath.Abs(filepath.Join(top, "node_modules"))
	require.NoError(t, err)
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		missing(t, "the guide's snippets in TypeScript need the packages of package-lock.json: run npm ci at the top of the project")
	}
	// Within node_modules, from where Node finds what the package needs.
	folder, err := os.MkdirTemp(modules, ".storefront-guide-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("package.json", `{"type":"module"}`)
	write("tsconfig.json", compilerOptions)
	for _, b := range in(all, "ts") {
		name := parts[b.section]
		require.NotEmpty(t, name, b.section)
		require.NoFileExists(t, filepath.Join(folder, name), "one block a section")
		write(name, b.text)
	}
	main, err := os.ReadFile(filepath.Join("testdata", "main.ts"))
	require.NoError(t, err)
	write("main.ts", string(main))

	node := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "node", args...)
		command.Dir, command.Env, command.Stdin = folder, h.environment(d.reader()...), strings.NewReader(string(h.body))
		return output(t, command)
	}
	build, err := filepath.Abs(filepath.Join(top, "client", "typescript", "build.js"))
	require.NoError(t, err)
	node(build, filepath.Join(folder, "node_modules", "storefront-client"))
	node(compiler, "--project", folder)
	require.Greater(t, strings.Count(node("start.js"), "XAF\n"), 3, "the published products")
	require.Equal(t, said, node("main.js"))
}
