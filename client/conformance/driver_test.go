// Package conformance_test drives the clients in other languages than Go through the same tables: every
// operation and error against the development server, with the answers compared to the Go client's,
// retries against a server that fails as told, and webhooks. Each language has a driver, a program
// of some lines that reads what to do from its standard input.
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

	"go.storefront.example/server/conformance/devtest"
)

// language is one in which there is a client.
type language struct {
	name string
	// needs skips the test without what runs the language, and returns the command of the driver.
	needs func(t *testing.T) []string
	// asInGo is set where an error names an operation by its method in the protos, GetStore, as in Go, and not by the document's
	// getStore.
	asInGo bool
	// errorName is what the text of an error begins with.
	errorName string
	// keepsNewer is set where an answer keeps the fields that are newer than the client.
	keepsNewer bool
	// noUserAgent is set where a program's own name cannot be given.
	noUserAgent bool
}

var languages = []language{
	{name: "php", errorName: "storefront", needs: func(t *testing.T) []string {
		return []string{needPHP(t), filepath.Join(devtest.Top(t), "client", "php", "test", "driver.php"), filepath.Join(buildPHP(t),
			"src")}
	}},
	// The one file for hosts without Composer is the same client.
	{name: "php, in one file", errorName: "storefront", needs: func(t *testing.T) []string {
		return []string{needPHP(t), filepath.Join(devtest.Top(t), "client", "php", "test", "driver.php"),
			filepath.Join(buildPHP(t), "storefront.php")}
	}},
	{name: "python", errorName: "storefront", needs: func(t *testing.T) []string { return pythonDriver(t, needPython(t, "json")) }},
	{name: "python, asyncio", errorName: "storefront", needs: func(t *testing.T) []string {
		return append(pythonDriver(t, needPython(t, "httpx")), "aio")
	}},
	// JavaScript's errors begin with their name; the client takes no name of a program, whose fetch may set one.
	{name: "typescript", needs: typescriptDriver, asInGo: true, errorName: "StorefrontError", noUserAgent: true,
		keepsNewer: true},
}

// operation is how an error names one of the document's operations.
func (l language) operation(id string) string {
	if l.asInGo {
		return strings.ToUpper(id[:1]) + id[1:]
	}
	return id
}

// typescriptDriver makes one file of the driver and the client. The client's own tests check its types.
func typescriptDriver(t *testing.T) []string {
	t.Helper()
	modules := devtest.NeedNode(t, "esbuild", "@bufbuild/protobuf")
	devtest.Watch(t)
	file := filepath.Join(newFolder(t), "driver.mjs")
	devtest.Run(t, "", nil, filepath.Join(modules, "esbuild", "bin", "esbuild"), "--bundle", "--platform=node", "--format=esm",
		"--log-level=warning", "--outfile="+file, filepath.Join(devtest.Top(t), "client", "typescript", "test", "driver.ts"))
	return []string{"node", file}
}

func pythonDriver(t *testing.T, python string) []string {
	t.Helper()
	folder := newFolder(t)
	devtest.Watch(t)
	devtest.Run(t, "", nil, python, filepath.Join(devtest.Top(t), "client", "python", "build.py"), folder)
	return []string{"env", "PYTHONPATH=" + folder, python, "-W", "error",
		filepath.Join(devtest.Top(t), "client", "python", "test", "driver.py")}
}

// needPHP requires PHP with curl, and returns its command.
func needPHP(t *testing.T) string {
	t.Helper()
	if err := exec.Command("php", "-r", `exit(PHP_VERSION_ID >= 80100 && function_exists("curl_init") ? 0 : 1);`).Run(); err != nil {
		devtest.Missing(t, "this needs PHP 8.1 or later with its curl extension (php-cli and php-curl): %v", err)
	}
	return "php"
}

// needPython requires Python with a module, and returns its command: the path's, or the system's, for which Debian's
// packages are.
func needPython(t *testing.T, module string) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import sys, "+module+"; sys.exit(sys.version_info < (3, 10))").Run() == nil {
			return python
		}
	}
	devtest.Missing(t, "this needs Python 3.10 or later with %s (Debian's package python3-%[1]s)", module)
	return ""
}

// buildPHP lays the Composer package out and returns its folder.
func buildPHP(t *testing.T) string {
	t.Helper()
	devtest.Watch(t)
	folder := newFolder(t)
	devtest.Run(t, "", nil, "php", filepath.Join(devtest.Top(t), "client", "php", "build.php"), folder)
	return folder
}

// each runs a test for every language.
func each(t *testing.T, test func(t *testing.T, l language)) {
	t.Helper()
	eachOf(t, languages, test)
}

func eachOf(t *testing.T, languages []language, test func(t *testing.T, l language)) {
	t.Helper()
	t.Parallel()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// driver is a running driver.
type driver struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// built has the drivers' commands by the language's name, because to lay a package out takes longer than most tests.
var built = struct {
	sync.Mutex
	// folder is removed when the tests have ended.
	folder   string
	commands map[string][]string
}{commands: map[string][]string{}}

// command returns the command of the language's driver, which the first test that asks for it builds.
func (l language) command(t *testing.T) []string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.commands[l.name] == nil {
		built.commands[l.name] = l.needs(t)
	}
	return built.commands[l.name]
}

// newFolder makes a folder for a driver that all tests use.
func newFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp(built.folder, "driver")
	require.NoError(t, err)
	return folder
}

func (l language) start(t *testing.T) *driver {
	t.Helper()
	args := l.command(t)
	command := exec.Command(args[0], args[1:]...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	stuck := time.AfterFunc(2*devtest.Patience, func() { _ = command.Process.Kill() })
	t.Cleanup(func() {
		stuck.Stop()
		require.NoError(t, in.Close())
		require.NoError(t, command.Wait())
	})
	return &driver{t, in, bufio.NewReader(out)}
}

// said is what a driver prints about one request: an answer, a refusal, or that an argument is none.
type said struct {
	Answer  json.RawMessage
	Refused *refusal
	Invalid string
}

// refusal is an error of the client's, or of its verifier of webhooks.
type refusal struct {
	Code, Operation, Required, RequestID, Message, Mistake string
	Status, RetryAfter                                     int
	Fields                                                 []struct{ Field, Message string }
	Missing                                                []string
}

type arguments map[string]any

// ask has the driver do something.
func (d *driver) ask(what map[string]any) said {
	d.t.Helper()
	text, err := json.Marshal(what)
	require.NoError(d.t, err)
	_, err = d.in.Write(append(text, '\n'))
	require.NoError(d.t, err)
	line, err := d.out.ReadBytes('\n')
	require.NoError(d.t, err, "the driver ended; its output is above")
	var s said
	require.NoError(d.t, json.Unmarshal(line, &s), "%s", line)
	return s
}

// open makes a client by a name.
func (d *driver) open(name string, args arguments) {
	d.t.Helper()
	require.Equal(d.t, said{Answer: json.RawMessage("null")}, d.ask(map[string]any{"do": "open", "client": name, "arguments": args}))
}

// call calls an operation. PHP reads an empty object as an empty list, which is the same to it.
func (d *driver) call(client, resource, method string, args arguments) said {
	d.t.Helper()
	if args == nil {
		args = arguments{}
	}
	return d.ask(map[string]any{"do": "call", "client": client, "resource": resource, "method": method, "arguments": args})
}

// verify has a delivery verified.
func (d *driver) verify(body []byte, header any, now, tolerance int64, secrets ...string) said {
	d.t.Helper()
	return d.ask(map[string]any{"do": "verify", "body": base64.StdEncoding.EncodeToString(body), "header": header,
		"secrets": append([]string{}, secrets...),
		"now":     now, "tolerance": tolerance})
}

func TestMain(m *testing.M) {
	if runtime.GOOS == "windows" {
		return // the drivers are run as on a server
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
