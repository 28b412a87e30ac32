// Package generators_test makes clients of the OpenAPI document with generators that others
// published, openapi-typescript for TypeScript and oapi-codegen for Go, compiles them with the
// strictest types, and lists the products of the development server with each. A document that
// reads well and generates badly fails here.
package generators_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
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

	"go.storefront.example/gen/openapi"
)

const (
	// oldestNode is the oldest major version of Node that package.json accepts.
	oldestNode = 20
	// startTimeout bounds the wait for the development server, demo data included.
	startTimeout = time.Minute
)

// top is the top of the project. It is absolute, because programs of other folders look for it.
func top(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	return folder
}

// missing skips the test, or fails it where STOREFRONT_TEST_REQUIRE=1 says that nothing may be
// missing.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("STOREFRONT_TEST_REQUIRE") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// needNode asks for Node and the pinned packages.
func needNode(t *testing.T) {
	t.Helper()
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		missing(t, "openapi-typescript needs Node %d or later: %v", oldestNode, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
	if number, err := strconv.Atoi(major); err != nil || number < oldestNode {
		missing(t, "openapi-typescript needs Node %d or later, and this is %s", oldestNode, bytes.TrimSpace(version))
	}
	for _, name := range []string{"typescript", "@types/node", "openapi-typescript", "openapi-fetch"} {
		if _, err := os.Stat(filepath.Join(top(t), "node_modules", filepath.FromSlash(name))); err != nil {
			missing(t, "openapi-typescript needs its packages: run npm ci at the top of the project")
		}
	}
}

// write puts a file into a folder.
func write(t *testing.T, folder, name string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
}

// fixture is a file of testdata.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return text
}

// run runs a program in a folder, with these variables beside the test's own, and returns what it
// printed.
func run(t *testing.T, folder string, variables []string, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), variables...)
	var errs bytes.Buffer
	command.Stderr = &errs
	output, err := command.Output()
	require.NoError(t, err, "%s%s", output, errs.String())
	return string(output)
}

func TestGeneratedTypeScriptListsProducts(t *testing.T) {
	t.Parallel()
	needNode(t)
	modules := filepath.Join(top(t), "node_modules")
	// Within node_modules, from where Node finds the packages.
	folder, err := os.MkdirTemp(modules, ".storefront-generated-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	write(t, folder, "storefront.json", []byte(openapi.Document))
	write(t, folder, "package.json", []byte(`{"type":"module"}`))
	write(t, folder, "tsconfig.json", fixture(t, "tsconfig.json"))
	write(t, folder, "list.ts", fixture(t, "list.ts"))
	run(t, folder, nil, "node", filepath.Join(modules, "openapi-typescript", "bin", "cli.js"), "storefront.json", "--output", "api.d.ts")
	run(t, folder, nil, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "--project", ".")
	d := startDev(t)
	require.Equal(t, d.products(t), run(t, folder, d.variables(), "node", "list.js"))
}

func TestGeneratedGoListsProducts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	// The generated client is compiled with the versions that tools.mod pins beside its generator.
	for from, to := range map[string]string{"tools.mod": "go.mod", "tools.sum": "go.sum"} {
		text, err := os.ReadFile(filepath.Join(top(t), from))
		require.NoError(t, err)
		write(t, folder, to, text)
	}
	write(t, folder, "storefront.json", []byte(openapi.Document))
	write(t, folder, "main.go", fixture(t, "list.go.txt"))
	// Their modules are fetched where they are not there yet, which needs the network.
	generator := filepath.Join(folder, "bin") + string(filepath.Separator)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", generator,
		"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen", "github.com/oapi-codegen/runtime")
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		missing(t, "oapi-codegen and its runtime need the modules that tools.mod pins: %s", output)
	}
	// Without skip-prune the generator leaves out what only webhooks refer to, and refers to it.
	run(t, folder, nil, generator+"oapi-codegen", "-package", "main", "-generate", "types,client,skip-prune", "-o", "api.go", "storefront.json")
	run(t, folder, nil, "go", "vet", ".")
	d := startDev(t)
	require.Equal(t, d.products(t), run(t, folder, d.variables(), "go", "run", "."))
}

// development is a development server with its demo store.
type development struct{ url, key string }

func (d development) variables() []string {
	return []string{"STOREFRONT_URL=" + d.url, "STOREFRONT_KEY=" + d.key}
}

// products are the lines that a client is to print, from answers that no generated code has read.
func (d development) products(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/v1/products?pageSize=100", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+d.key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var list struct {
		Data []struct {
			Title           string
			PriceAmount     json.Number
			CompareAtAmount *json.Number
			Status          string
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&list))
	require.Greater(t, len(list.Data), 10, "three pages of five")
	var lines strings.Builder
	for _, product := range list.Data {
		before := "null"
		if product.CompareAtAmount != nil {
			before = product.CompareAtAmount.String()
		}
		fmt.Fprintln(&lines, product.Title, product.PriceAmount, before, product.Status)
	}
	return lines.String() + "product_not_found\n"
}

var (
	printedURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	printedKey = regexp.MustCompile(`svc_live_[0-9A-Za-z]+`)
)

// startDev builds the command, starts the development server on free ports and an empty folder,
// and reads the address and the key from the curl line that it prints.
func startDev(t *testing.T) development {
	t.Helper()
	// The go command repeats an old result until a file changes that the test itself has seen.
	for _, room := range []string{"cmd", "ent", "gen", "server"} {
		err := filepath.WalkDir(filepath.Join(top(t), room), func(_ string, _ fs.DirEntry, err error) error { return err })
		require.NoError(t, err)
	}
	folder := t.TempDir()
	binary := filepath.Join(folder, "storefront")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	run(t, top(t), nil, "go", "build", "-o", binary, "./cmd/storefront")
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
		timer.Stop()
		go func() { _, _ = io.Copy(io.Discard, stdout) }()
		return development{printedURL.FindString(lines.Text()), printedKey.FindString(lines.Text())}
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	require.FailNow(t, "dev printed no curl line", "%s", logs.String())
	return development{}
}
