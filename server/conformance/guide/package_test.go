package guide_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// packageResults lacks the line of the typed protocols, which PHP and Python do not use.
var packageResults = strings.Replace(results, "typed: product_incomplete\n", "", 1)

// runPHP loads the package from one file, in place of Composer's autoload.php.
func runPHP(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	if err := exec.Command("php", "-r", `exit(PHP_VERSION_ID >= 80100 && function_exists("curl_init") ? 0 : 1);`).Run(); err != nil {
		need.Missing(t, "this needs PHP 8.1 or later with its curl extension: %v", err)
	}
	folder := t.TempDir()
	devtest.Run(t, "", nil, "php", filepath.Join(devtest.Root(t), "client", "php", "build.php"), folder)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "vendor"), 0o700))
	// Several samples run in one program, and each requires autoload.php.
	require.NoError(t, os.WriteFile(filepath.Join(folder, "vendor", "autoload.php"),
		[]byte("<?php\nrequire_once __DIR__ . '/../storefront.php';\n"), 0o600))
	runPackage(t, all, dev, w, "php", folder, func(name string) string { return "require '" + name + ".php';\n" }, "php")
}

func runPython(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run(); err != nil {
		need.Missing(t, "this needs Python 3.10 or later: %v", err)
	}
	folder := t.TempDir()
	devtest.Run(t, "", nil, "python3", filepath.Join(devtest.Root(t), "client", "python", "build.py"), folder)
	runPackage(t, all, dev, w, "python", folder, func(name string) string { return "import " + name + "\n" }, "python3", "-W",
		"error")
}

// runPackage writes each block to a file named like its section, and runs the first block, the program in testdata, which calls
// the others, and the reference's samples.
func runPackage(t *testing.T, all []block, dev devtest.Server, w *webhook, language, folder string,
	load func(string) string, run ...string) {
	extension := map[string]string{"php": ".php", "python": ".py"}[language]
	write := func(name, text string) {
		t.Helper()
		require.NoFileExists(t, filepath.Join(folder, name+extension), "one block a section")
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+extension), []byte(text), 0o600))
	}
	for _, b := range in(all, language) {
		if !strings.Contains(b.text, " verified(") {
			write("part_"+strings.ToLower(strings.Fields(b.section)[0]), b.text)
		}
	}
	main, err := os.ReadFile(filepath.Join("testdata", "main"+extension))
	require.NoError(t, err)
	write("main", string(main))
	calls := map[string]string{"php": "<?php\n", "python": ""}[language]
	for _, s := range samples(t, dev, language) {
		write("sample_"+s.operation, s.text)
		calls += fmt.Sprintf(map[string]string{"php": "echo '%s: ';\n", "python": "print('%s: ', end='')\n"}[language], s.operation)
		calls += load("sample_" + s.operation)
	}
	write("samples", calls)
	program := func(name string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), run[0], append(run[1:], name+extension)...)
		command.Dir, command.Stdin = folder, bytes.NewReader(w.body)
		return output(t, command, append(variables(dev, w), "PYTHONPATH="+folder)...)
	}
	require.Greater(t, strings.Count(program("part_quick"), "XAF\n"), 3, "the published products")
	require.Equal(t, packageResults, program("main"))
	requireResults(t, program("samples"))
	if language == "php" {
		// The first comment of the PHP receiver is the command that runs it.
		command := regexp.MustCompile(`(?m)^// (php -S .*) webhooks\.php$`).FindStringSubmatch(readGuide(t))
		require.NotNil(t, command)
		runReceiver(t, dev, w, folder, "sh", "-c", "exec "+command[1]+" part_verify.php")
		return
	}
	runReceiver(t, dev, w, folder, run[0], append(run[1:], "part_verify.py")...)
}
