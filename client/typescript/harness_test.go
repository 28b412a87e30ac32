// Package typescript_test builds the TypeScript package and runs its tests, and programs that
// install it, against the development server in a process of its own. It needs Node and the
// packages that package-lock.json pins; what it asserts is in test/ and testdata/program/.
package typescript_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
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

// folders are the top of the project and what npm ci installed there; absolute, because Node
// resolves them from elsewhere.
func folders(t *testing.T) (top, modules string) {
	t.Helper()
	top, err := filepath.Abs(filepath.Join("..", ".."))
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
		missing("the TypeScript package needs Node %d or later: %v", oldestNode, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
	if number, err := strconv.Atoi(major); err != nil || number < oldestNode {
		missing("the TypeScript package needs Node %d or later, and this is %s", oldestNode, bytes.TrimSpace(version))
	}
	_, modules := folders(t)
	for _, name := range []string{"typescript", "@types/node", "@bufbuild/protobuf", "@connectrpc/connect-node", "stripe"} {
		if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(name))); err != nil {
			missing("the TypeScript package needs others: run npm ci at the top of the project")
		}
	}
}

// watch looks at every file that a run depends on. The go command repeats an old result until a
// file that the test itself has seen changes, and Node and the build see theirs behind its back.
func watch(t *testing.T) {
	t.Helper()
	top, modules := folders(t)
	for _, room := range []string{"client", "cmd", "ent", "gen", "server", "worker"} {
		err := filepath.WalkDir(filepath.Join(top, room), func(_ string, _ fs.DirEntry, err error) error { return err })
		require.NoError(t, err)
	}
	for _, file := range []string{filepath.Join(top, "go.mod"), filepath.Join(modules, ".package-lock.json")} {
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
}

// node runs a script of Node's in a folder and returns what it prints.
func node(t *testing.T, folder string, environment []string, arguments ...string) string {
	t.Helper()
	return run(t, folder, environment, "node", arguments...)
}

func run(t *testing.T, folder string, environment []string, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", program, strings.Join(arguments, " "), output)
	return string(output)
}

// binaries is the folder of the command that the tests of the package share.
var binaries string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "storefront-")
	if err != nil {
		panic(err)
	}
	binaries = folder
	status := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

// built is the command, built by the first test that needs it.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(binaries, "storefront")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	build := exec.Command("go", "build", "-o", binary, "./cmd/storefront")
	build.Dir = filepath.Join("..", "..")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	return binary, build.Run()
})

// dev is a development server and how to reach it.
type dev struct {
	binary   string
	URL      string `json:"url"`
	AdminURL string `json:"adminUrl"`
	Key      string `json:"key"`
}

// startDev starts the development server on free ports and an empty folder.
func startDev(t *testing.T) dev {
	t.Helper()
	binary, err := built()
	require.NoError(t, err)
	command := exec.Command(binary, "dev", "-o", "json", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"))
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
	d := dev{binary: binary}
	if err := json.NewDecoder(stdout).Decode(&d); err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		require.NoError(t, err, "%s", logs.String())
	}
	timer.Stop()
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return d
}

// command runs one of the operator's commands and decodes what it prints.
func (d dev) command(t *testing.T, into any, arguments ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), d.binary, append(arguments, "--admin-url", d.AdminURL, "-o", "json")...).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(output, into))
}

// environment says to Node's tests which service to test.
func (d dev) environment(top string) []string {
	return []string{
		"STOREFRONT_BINARY=" + d.binary,
		"STOREFRONT_URL=" + d.URL,
		"STOREFRONT_ADMIN_URL=" + d.AdminURL,
		"STOREFRONT_KEY=" + d.Key,
		"STOREFRONT_VECTORS=" + filepath.Join(top, "worker", "signature", "testdata", "vectors.json"),
		"STOREFRONT_REFUSALS=" + filepath.Join(top, "server", "refusal", "refusal.go"),
	}
}
