// Package conformance_test compares the clients of all languages with the Go client: every operation and error on the
// development server, retries with a scripted server, and the verification of webhooks. Each language has a driver: a short
// program that reads requests from its standard input and prints one result for each.
package conformance_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// language is a programming language with a client, and how its client differs.
type language struct {
	name string
	// needs returns the command that starts the driver, or calls need.Missing.
	needs func(t *testing.T) []string
	// asInGo is true if errors name an operation as Go does: GetStore. Others use the operationId: getStore.
	asInGo bool
	// errorName begins every error message of the client.
	errorName string
	// keepsNewer is true if the client keeps fields that are newer than the client.
	keepsNewer bool
	// noUserAgent is true if the client has no option for the calling program's name.
	noUserAgent bool
}

var languages = []language{
	{name: "php", errorName: "storefront", needs: func(t *testing.T) []string {
		return []string{needPHP(t), filepath.Join(devtest.Root(t), "client", "php", "test", "driver.php"), filepath.Join(buildPHP(t),
			"src")}
	}},
	// The PHP client is also built as a single file, for hosts without Composer.
	{name: "php, in one file", errorName: "storefront", needs: func(t *testing.T) []string {
		return []string{needPHP(t), filepath.Join(devtest.Root(t), "client", "php", "test", "driver.php"),
			filepath.Join(buildPHP(t), "storefront.php")}
	}},
	{name: "python", errorName: "storefront", needs: func(t *testing.T) []string { return pythonDriver(t, needPython(t, "json")) }},
	{name: "python, asyncio", errorName: "storefront", needs: func(t *testing.T) []string {
		return append(pythonDriver(t, needPython(t, "httpx")), "aio")
	}},
	// A JavaScript error's text begins with the name of its class. A program can set User-Agent in the fetch function that it
	// passes.
	{name: "typescript", needs: typescriptDriver, asInGo: true, errorName: "StorefrontError", noUserAgent: true,
		keepsNewer: true},
}

func (l language) operation(id string) string {
	if l.asInGo {
		return strings.ToUpper(id[:1]) + id[1:]
	}
	return id
}

// typescriptDriver bundles driver and client. esbuild does not check types; the client's own tests do.
func typescriptDriver(t *testing.T) []string {
	t.Helper()
	modules := devtest.NeedNode(t, "esbuild", "@bufbuild/protobuf")
	devtest.TrackSources(t)
	file := filepath.Join(newFolder(t), "driver.mjs")
	devtest.Run(t, "", nil, filepath.Join(modules, "esbuild", "bin", "esbuild"), "--bundle", "--platform=node", "--format=esm",
		"--log-level=warning", "--outfile="+file, filepath.Join(devtest.Root(t), "client", "typescript", "test", "driver.ts"))
	return []string{"node", file}
}

func pythonDriver(t *testing.T, python string) []string {
	t.Helper()
	folder := newFolder(t)
	devtest.TrackSources(t)
	devtest.Run(t, "", nil, python, filepath.Join(devtest.Root(t), "client", "python", "build.py"), folder)
	return []string{"env", "PYTHONPATH=" + folder, python, "-W", "error",
		filepath.Join(devtest.Root(t), "client", "python", "test", "driver.py")}
}

func needPHP(t *testing.T) string {
	t.Helper()
	if err := exec.Command("php", "-r", `exit(PHP_VERSION_ID >= 80100 && function_exists("curl_init") ? 0 : 1);`).Run(); err != nil {
		need.Missing(t, "this needs PHP 8.1 or later with its curl extension (php-cli and php-curl): %v", err)
	}
	return "php"
}

// needPython requires Python 3.10 with the module: python3 of the PATH, or else /usr/bin/python3, for which Debian's packages
// install modules.
func needPython(t *testing.T, module string) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import sys, "+module+"; sys.exit(sys.version_info < (3, 10))").Run() == nil {
			return python
		}
	}
	need.Missing(t, "this needs Python 3.10 or later with %s (Debian's package python3-%[1]s)", module)
	return ""
}

func buildPHP(t *testing.T) string {
	t.Helper()
	devtest.TrackSources(t)
	folder := newFolder(t)
	devtest.Run(t, "", nil, "php", filepath.Join(devtest.Root(t), "client", "php", "build.php"), folder)
	return folder
}

func each(t *testing.T, test func(t *testing.T, l language)) {
	t.Helper()
	eachOf(t, languages, test)
}

func eachOf(t *testing.T, languages []language, test func(t *testing.T, l language)) {
	t.Helper()
	t.Parallel()
	need.Heavy(t, "it runs the clients in PHP, Python and TypeScript")
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// driver is a process that calls the client of one language.
type driver struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// Building a package takes longer than most tests.
var built = struct {
	sync.Mutex
	// TestMain removes it after all tests.
	folder   string
	commands map[string][]string
}{commands: map[string][]string{}}

// command builds the driver at the first call.
func (l language) command(t *testing.T) []string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.commands[l.name] == nil {
		built.commands[l.name] = l.needs(t)
	}
	return built.commands[l.name]
}

// newFolder outlives the calling test, because later tests use the same driver.
func newFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp(built.folder, "driver")
	require.NoError(t, err)
	return folder
}

func (l language) start(t *testing.T, variables ...string) *driver {
	t.Helper()
	args := l.command(t)
	command := exec.Command(args[0], args[1:]...)
	command.Stderr, command.Env = os.Stderr, append(os.Environ(), variables...)
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	stuck := time.AfterFunc(2*devtest.Timeout, func() { _ = command.Process.Kill() })
	t.Cleanup(func() {
		stuck.Stop()
		require.NoError(t, in.Close())
		require.NoError(t, command.Wait())
	})
	return &driver{t, in, bufio.NewReader(out)}
}

// result is an answer, an error of the client, or the message about an invalid argument.
type result struct {
	Answer  json.RawMessage
	Refused *refusal
	Invalid string
}

// refusal is an error of a call or of the verifier. RetryAfter is in seconds.
type refusal struct {
	Code, Operation, Required, RequestID, Message, Mistake string
	Status, RetryAfter                                     int
	Fields                                                 []struct{ Field, Message string }
	Missing                                                []string
}

type arguments map[string]any

func (d *driver) ask(request map[string]any) result {
	d.t.Helper()
	text, err := json.Marshal(request)
	require.NoError(d.t, err)
	_, err = d.in.Write(append(text, '\n'))
	require.NoError(d.t, err)
	line, err := d.out.ReadBytes('\n')
	require.NoError(d.t, err, "the driver ended; its output is above")
	var s result
	require.NoError(d.t, json.Unmarshal(line, &s), "%s", line)
	return s
}

// open makes the driver create a client under this name.
func (d *driver) open(name string, args arguments) {
	d.t.Helper()
	require.Equal(d.t, result{Answer: json.RawMessage("null")}, d.ask(map[string]any{"do": "open", "client": name,
		"arguments": args}))
}

// call calls an operation of the client that open has created.
func (d *driver) call(client, resource, method string, args arguments) result {
	d.t.Helper()
	if args == nil {
		args = arguments{}
	}
	return d.ask(map[string]any{"do": "call", "client": client, "resource": resource, "method": method, "arguments": args})
}

// verify verifies a webhook delivery. now is a Unix time; tolerance is in seconds.
func (d *driver) verify(body []byte, header any, now, tolerance int64, secrets ...string) result {
	d.t.Helper()
	return d.ask(map[string]any{"do": "verify", "body": base64.StdEncoding.EncodeToString(body), "header": header,
		"secrets": append([]string{}, secrets...),
		"now":     now, "tolerance": tolerance})
}

func TestMain(m *testing.M) {
	if runtime.GOOS == "windows" {
		return // The drivers' commands need a Unix system.
	}
	folder, err := os.MkdirTemp("", "drivers")
	if err != nil {
		panic(err)
	}
	built.folder = folder
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		panic(err)
	}
	os.Exit(code)
}
