// Package devtest runs the storefront command as a process of its own, for the tests of those who
// call it from outside: clients, documents, generated code. It owns how the command is built,
// started and stopped, and how a test says what it needs and cannot do without. It refuses to be
// used by anything but tests.
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
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// Patience bounds each wait for a process: the server's start, demo data included, and a delivery.
	Patience = time.Minute
	// oldestNode is the oldest major version of Node that package.json accepts.
	oldestNode = 20
)

// Top is the top of the project. It is absolute, because programs of other folders look for it.
func Top(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for {
		_, err := os.Stat(filepath.Join(folder, "go.mod"))
		if err == nil {
			return folder
		}
		require.ErrorIs(t, err, fs.ErrNotExist)
		above := filepath.Dir(folder)
		require.NotEqual(t, above, folder, "the test runs outside the project")
		folder = above
	}
}

// Missing skips the test, or fails it where STOREFRONT_TEST_REQUIRE=1 says that nothing may be
// missing. The text says what is missing and what to do.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("STOREFRONT_TEST_REQUIRE") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// NeedNode asks for Node and for packages that npm ci installs at the top of the project, and
// returns where they are.
func NeedNode(t testing.TB, packages ...string) (modules string) {
	t.Helper()
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		Missing(t, "this needs Node %d or later: %v", oldestNode, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
	if number, err := strconv.Atoi(major); err != nil || number < oldestNode {
		Missing(t, "this needs Node %d or later, and here is %s", oldestNode, bytes.TrimSpace(version))
	}
	modules = filepath.Join(Top(t), "node_modules")
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(name))); err != nil {
			Missing(t, "this needs the package %s: run npm ci at the top of the project", name)
		}
	}
	return modules
}

// watch looks at every file that a run depends on. The go command repeats an old result until a
// file that the test itself has seen changes, and builds and Node see theirs behind its back.
func watch(t testing.TB) {
	t.Helper()
	top := Top(t)
	for _, room := range []string{"client", "cmd", "ent", "gen", "proto", "server", "worker"} {
		err := filepath.WalkDir(filepath.Join(top, room), func(_ string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a test's own file, which is gone again
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

// Run runs a program in a folder, the test's own when it is empty, with these variables beside the
// test's own, and returns what it prints. The test fails with all that it says when it fails.
func Run(t testing.TB, folder string, variables []string, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), variables...)
	var talk bytes.Buffer
	command.Stderr = &talk
	output, err := command.Output()
	require.NoError(t, err, "%s %s\n%s%s", program, strings.Join(args, " "), output, &talk)
	return string(output)
}

// Executable is the name of a program's file on this system.
func Executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// Command is the storefront command, built.
type Command struct {
	// File is the program.
	File string
}

// Build builds the command. It is gone when the test ends.
func Build(t testing.TB) Command {
	t.Helper()
	watch(t)
	c := Command{filepath.Join(t.TempDir(), Executable("storefront"))}
	Run(t, Top(t), nil, "go", "build", "-o", c.File, "./cmd/storefront")
	return c
}

// Server is a development server with its worker and its demo store, as it tells of itself.
type Server struct {
	Command
	// URL and AdminURL are where it is called and operated, without a trailing slash.
	URL      string `json:"url"`
	AdminURL string `json:"adminUrl"`
	// Key is an API key of the demo store with every scope.
	Key string `json:"key"`
}

// Start starts the development server on free ports and an empty folder. It is stopped when the
// test ends.
func (c Command) Start(t testing.TB) Server {
	t.Helper()
	s := Server{Command: c}
	command := exec.Command(c.File, "dev", "-o", "json", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"))
	var logs bytes.Buffer
	command.Stderr = &logs
	said, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(Patience, func() { _ = command.Process.Kill() })
	stop := func() {
		timer.Stop()
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(stop)
	if err := json.NewDecoder(said).Decode(&s); err != nil {
		stop()
		require.NoError(t, err, "%s", &logs)
	}
	timer.Stop()
	go func() { _, _ = io.Copy(io.Discard, said) }() // it goes on to tell of deliveries
	return s
}

// Variables tell another program where the server is, and its key.
func (s Server) Variables() []string {
	return []string{"STOREFRONT_URL=" + s.URL, "STOREFRONT_ADMIN_URL=" + s.AdminURL, "STOREFRONT_KEY=" + s.Key, "STOREFRONT_BINARY=" + s.File}
}

// Operate runs one of the operator's commands on the running server and decodes what it prints.
func (s Server) Operate(t testing.TB, into any, args ...string) {
	t.Helper()
	said := Run(t, "", []string{"STOREFRONT_ADMIN_TOKEN="}, s.File, append(args, "--admin-url", s.AdminURL, "-o", "json")...)
	require.NoError(t, json.Unmarshal([]byte(said), into))
}

// Webhook is a registered webhook.
type Webhook struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// Register makes a webhook of the demo store for these types of event.
func (s Server) Register(t testing.TB, url string, events ...string) Webhook {
	t.Helper()
	var made Webhook
	s.Operate(t, &made, "webhook", "create", "--store", "demo", "--url", url, "--events", strings.Join(events, ","))
	return made
}
