// Package typescript_test runs the generated TypeScript client, with Connect's own transports for
// Node, against the development server in a process of its own. It needs Node and the packages
// that package-lock.json pins; what it asserts is in client.test.ts.
package typescript_test

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// oldestNode is the oldest major version of Node that package.json accepts.
	oldestNode = 20
	// startTimeout bounds the wait for the development server, demo data included.
	startTimeout = time.Minute
)

// The folders are absolute, because Node resolves them from elsewhere.
func folders(t *testing.T) (top, modules string) {
	t.Helper()
	top, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	return top, filepath.Join(top, "node_modules")
}

// needNode skips the test where Node or the pinned packages are missing, and fails it where
// STOREFRONT_TEST_REQUIRE=1 says that nothing may be.
func needNode(t *testing.T) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("STOREFRONT_TEST_REQUIRE") == "1" {
		missing = t.Fatalf
	}
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		missing("the TypeScript client needs Node %d or later: %v", oldestNode, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
	if number, err := strconv.Atoi(major); err != nil || number < oldestNode {
		missing("the TypeScript client needs Node %d or later, and this is %s", oldestNode, bytes.TrimSpace(version))
	}
	_, modules := folders(t)
	for _, name := range []string{"typescript", "@types/node", "@bufbuild/protobuf", "@connectrpc/connect-node"} {
		if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(name))); err != nil {
			missing("the TypeScript client needs its packages: run npm ci at the top of the project")
		}
	}
}

func TestTypeScriptClientAgainstDev(t *testing.T) {
	t.Parallel()
	needNode(t)
	watch(t)
	scripts := compile(t)
	url, key := startDev(t)

	command := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=tap", scripts)
	command.Env = append(os.Environ(), "STOREFRONT_URL="+url, "STOREFRONT_KEY="+key)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Regexp(t, `(?m)^# pass [1-9]`, string(output), "a run that tests nothing passes nothing")
}

// watch looks at every file that the run depends on. The go command repeats an old result until a
// file that the test itself has seen changes, and Node and the build see theirs behind its back.
func watch(t *testing.T) {
	t.Helper()
	top, modules := folders(t)
	for _, room := range []string{"cmd", "ent", "gen", "server"} {
		err := filepath.WalkDir(filepath.Join(top, room), func(_ string, _ fs.DirEntry, err error) error { return err })
		require.NoError(t, err)
	}
	for _, file := range []string{filepath.Join(top, "go.mod"), filepath.Join(modules, ".package-lock.json")} {
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
}

// compile checks the generated client and the test with the strictest types and returns the
// test as JavaScript. It lies within node_modules, from where Node finds the packages.
func compile(t *testing.T) string {
	t.Helper()
	_, modules := folders(t)
	out, err := os.MkdirTemp(modules, ".storefront-client-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(out)) })
	require.NoError(t, os.WriteFile(filepath.Join(out, "package.json"), []byte(`{"type":"module"}`), 0o600))

	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	output, err := exec.CommandContext(t.Context(), "node", compiler, "--project", ".", "--noEmit", "false", "--outDir", out).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return filepath.Join(out, "server", "conformance", "typescript", "client.test.js")
}

var (
	printedURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	printedKey = regexp.MustCompile(`svc_live_[0-9A-Za-z]+`)
)

// startDev builds the command, starts the development server on free ports and an empty folder,
// and returns the address and the key of the curl line that it prints.
func startDev(t *testing.T) (url, key string) {
	t.Helper()
	top, _ := folders(t)
	folder := t.TempDir()
	binary := filepath.Join(folder, "storefront")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/storefront")
	build.Dir = top
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)

	command := exec.Command(binary, "dev", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", filepath.Join(folder, "data"))
	var logs bytes.Buffer
	command.Stderr = &logs
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(startTimeout, func() { _ = command.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = command.Process.Kill()
		_ = command.Wait()
	})

	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), "curl ") {
			continue
		}
		url, key = printedURL.FindString(lines.Text()), printedKey.FindString(lines.Text())
		break
	}
	if url == "" || key == "" {
		_ = command.Process.Kill()
		_ = command.Wait()
		require.FailNow(t, "dev printed no curl line", "%s", logs.String())
	}
	timer.Stop()
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return url, key
}
