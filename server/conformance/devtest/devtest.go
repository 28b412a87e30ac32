// Package devtest builds, starts and stops the storefront command, for tests of programs that call it. If a program that a test
// needs is missing, it skips the test or lets it fail. Only tests may use it.
package devtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
)

const (
	// Timeout is the wait for a server with its demo data, or for a delivery.
	Timeout = time.Minute
	// oldestNode is the oldest major version that package.json accepts.
	oldestNode = 20
)

// Root is the absolute path of the project's top folder.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for {
		_, err := os.Stat(filepath.Join(folder, "go.mod"))
		if err == nil {
			return folder
		}
		require.ErrorIs(t, err, fs.ErrNotExist)
		parent := filepath.Dir(folder)
		require.NotEqual(t, parent, folder, "the test runs outside the project")
		folder = parent
	}
}

// NeedNode calls need.Missing unless there are Node and these packages, which npm ci installs. It returns the packages' folder.
func NeedNode(t testing.TB, packages ...string) (modules string) {
	t.Helper()
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		need.Missing(t, "this needs Node %d or later: %v", oldestNode, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
	if number, err := strconv.Atoi(major); err != nil || number < oldestNode {
		need.Missing(t, "this needs Node %d or later, and here is %s", oldestNode, bytes.TrimSpace(version))
	}
	modules = filepath.Join(Root(t), "node_modules")
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(name))); err != nil {
			need.Missing(t, "this needs the package %s: run npm ci at the top of the project", name)
		}
	}
	return modules
}

// NeedModules downloads all modules of go.mod, so that a test's own module finds them in the module cache, or calls
// need.Missing.
func NeedModules(t testing.TB) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download")
	command.Dir = Root(t)
	if output, err := command.CombinedOutput(); err != nil {
		need.Missing(t, "this needs all modules of go.mod, which go mod download gets: %v\n%s", err, output)
	}
}

// TrackSources visits all sources of the command, because the go command repeats a test only if a file that its process has
// visited has changed.
func TrackSources(t testing.TB) {
	t.Helper()
	top := Root(t)
	for _, room := range []string{"client", "cmd", "ent", "gen", "proto", "server", "worker"} {
		err := filepath.WalkDir(filepath.Join(top, room), func(_ string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // another test has removed its temporary file
			}
			return err
		})
		require.NoError(t, err)
	}
	for _, file := range []string{"go.mod", "package-lock.json"} {
		_, err := os.ReadFile(filepath.Join(top, file))
		require.NoError(t, err)
	}
}

// Run returns a program's output. folder is where it runs; "" means the test's folder. If the program fails, the test fails and
// shows the output.
func Run(t testing.TB, folder string, variables []string, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), variables...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(t, err, "%s %s\n%s%s", program, strings.Join(args, " "), output, &stderr)
	return string(output)
}

// Executable adds .exe on Windows.
func Executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// Command is the compiled storefront command.
type Command struct {
	// File is the path of the program.
	File string
}

// Build compiles the command, or takes STOREFRONT_TEST_BINARY, as in CI. It copies a file in the user's cache folder, which go
// build links again only when it is out of date.
func Build(t testing.TB) Command {
	t.Helper()
	TrackSources(t)
	if built := os.Getenv("STOREFRONT_TEST_BINARY"); built != "" {
		return Command{built}
	}
	c := Command{filepath.Join(t.TempDir(), Executable("storefront"))}
	folder, err := os.UserCacheDir()
	if err == nil {
		folder = filepath.Join(folder, "storefront-test")
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		folder = t.TempDir() // a user without a cache folder
	}
	lock := flock.New(filepath.Join(folder, "lock"))
	require.NoError(t, lock.Lock())
	defer func() { require.NoError(t, lock.Close()) }()
	shared := filepath.Join(folder, Executable("storefront"))
	Run(t, Root(t), nil, "go", "build", "-ldflags=-s -w", "-o", shared, "./cmd/storefront")
	copyProgram(t, shared, c.File)
	return c
}

// copyProgram needs that no other goroutine starts a process meanwhile: the process would inherit the open file, and Linux does
// not execute a file that is open for writing.
func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o700))
}

// Server is a running development server with a worker and a demo store. Its fields are its output.
type Server struct {
	Command
	// URL and AdminURL are the addresses of the public and the admin listener, without a slash at the end.
	URL      string `json:"url"`
	AdminURL string `json:"adminUrl"`
	// Key is an API key of the demo store with all scopes.
	Key string `json:"key"`
}

// Start starts a server with an empty folder, on free ports, until the end of the test.
func (c Command) Start(t testing.TB) Server {
	t.Helper()
	s := Server{Command: c}
	command := exec.Command(c.File, "dev", "-o", "json", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data",
		filepath.Join(t.TempDir(), "data"))
	var logs bytes.Buffer
	command.Stderr = &logs
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(Timeout, func() { _ = command.Process.Kill() })
	stop := func() {
		timer.Stop()
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(stop)
	if err := json.NewDecoder(output).Decode(&s); err != nil {
		stop()
		require.NoError(t, err, "%s", &logs)
	}
	timer.Stop()
	go func() { _, _ = io.Copy(io.Discard, output) }() // the server prints a line for each delivery
	return s
}

// Variables has the server's addresses, its key and the command for another program.
func (s Server) Variables() []string {
	return []string{"STOREFRONT_URL=" + s.URL, "STOREFRONT_ADMIN_URL=" + s.AdminURL, "STOREFRONT_KEY=" + s.Key,
		"STOREFRONT_BINARY=" + s.File}
}

// RunCommand runs a command on the server, and decodes the JSON that it prints.
func (s Server) RunCommand(t testing.TB, into any, args ...string) {
	t.Helper()
	output := Run(t, "", []string{"STOREFRONT_ADMIN_TOKEN="}, s.File, append(args, "--admin-url", s.AdminURL, "-o", "json")...)
	require.NoError(t, json.Unmarshal([]byte(output), into))
}

// Webhook is a webhook of the demo store.
type Webhook struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Register creates a webhook of the demo store for these event types.
func (s Server) Register(t testing.TB, url string, events ...string) Webhook {
	t.Helper()
	var webhook Webhook
	s.RunCommand(t, &webhook, "webhook", "create", "--store", "demo", "--url", url, "--events", strings.Join(events, ","))
	return webhook
}
