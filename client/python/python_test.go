// Package python_test installs the Python package in an empty environment, checks its types, and runs its tests, its recipes
// and the README's examples against a development server. client/conformance has the tests that all languages share.
package python_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

// python returns an interpreter with these modules: python3 of the PATH, or else /usr/bin/python3, for which Debian's packages
// install modules.
func python(t *testing.T, modules ...string) string {
	t.Helper()
	devtest.TrackSources(t)
	check := "import sys; sys.exit(sys.version_info < (3, 10))"
	if len(modules) > 0 {
		check = "import " + strings.Join(modules, ", ") + "; " + check
	}
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(program, "-c", check).Run() == nil {
			return program
		}
	}
	need.Missing(t, "this needs Python 3.10 or later with %v (Debian's packages python3-…)", modules)
	return ""
}

// layOut writes the package into a folder, and returns PYTHONPATH=folder.
func layOut(t *testing.T) (folder, variable string) {
	t.Helper()
	folder = t.TempDir()
	devtest.Run(t, "", nil, python(t), "build.py", folder)
	return folder, "PYTHONPATH=" + folder
}

func TestWhatIsOfPythonAlone(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the Python client")
	python(t, "httpx")
	_, path := layOut(t)
	variables := devtest.Build(t).Start(t).Variables()
	for _, row := range []struct{ file, tests, module string }{
		{"test_client.py", `Ran 1\d tests`, "json"}, {"test_aio.py", `Ran [4-9] tests`, "httpx"},
	} {
		command := exec.CommandContext(t.Context(), python(t, row.module), "-W", "error", filepath.Join("test", row.file))
		command.Env = append(append(os.Environ(), path, "PYTHONDONTWRITEBYTECODE=1"), variables...)
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Regexp(t, row.tests, string(output))
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs mypy")
	if _, err := exec.LookPath("mypy"); err != nil {
		need.Missing(t, "this needs mypy (Debian's package of that name): %v", err)
	}
	python(t, "httpx") // mypy needs httpx, because the client for asyncio uses the types of httpx
	folder, path := layOut(t)
	variables := []string{"MYPYPATH=" + strings.TrimPrefix(path, "PYTHONPATH="), "MYPY_CACHE_DIR=" + t.TempDir()}
	files := []string{filepath.Join(folder, "storefront_client"), filepath.Join("test", "driver.py"),
		filepath.Join("test", "test_client.py"), filepath.Join("test", "test_aio.py"), "build.py"}
	for name, needs := range recipes {
		python(t, needs.modules...)
		files = append(files, filepath.Join("recipes", name))
	}
	devtest.Run(t, "", variables, "mypy", files...)
}

// recipes has the modules and settings that the test of each recipe needs.
var recipes = map[string]struct {
	modules []string
	// exitCode is that after SIGTERM: -1 if the signal ends the program, 0 if the program handles it.
	exitCode int
}{
	"http_server.py": {exitCode: -1},
	"flask_app.py":   {modules: []string{"flask"}, exitCode: -1},
	"fastapi_app.py": {modules: []string{"fastapi", "uvicorn"}},
	"django_app.py":  {modules: []string{"django"}, exitCode: -1},
}

var snippet = regexp.MustCompile("(?s)```python\n(.*?)```")

// pip installs the package as the README says, but without a package index.
func TestWhatTheReadmeShows(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it installs the Python client in an environment of its own")
	python(t, "httpx")
	environment := filepath.Join(t.TempDir(), "environment")
	if output, err := exec.CommandContext(t.Context(), python(t, "ensurepip"), "-m", "venv",
		environment).CombinedOutput(); err != nil {
		need.Missing(t, "this needs Python's venv (Debian's package python3-venv): %v\n%s", err, output)
	}
	interpreter := filepath.Join(environment, "bin", "python")
	devtest.Run(t, "", nil, interpreter, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--quiet", ".")
	installed := devtest.Run(t, t.TempDir(), nil, interpreter, "-c",
		"import storefront_client as s, pathlib; print(s.__version__, (pathlib.Path(s.__file__).parent / 'py.typed').exists())")
	require.Regexp(t, `^\d+\.\d+\.\d+ True\n$`, installed)

	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := snippet.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 3)
	dev := devtest.Build(t).Start(t)
	output := devtest.Run(t, t.TempDir(), []string{"SHOP_URL=" + dev.URL, "SHOP_KEY=" + dev.Key}, interpreter, "-W", "error", "-c",
		blocks[0][1])
	require.Greater(t, strings.Count(output, " XAF\n"), 3)
	require.Contains(t, output, " still lacks: content\n")
	output = devtest.Run(t, t.TempDir(), []string{"WEBHOOK_SECRET=" + secret, "BODY=" + orderPaid}, interpreter, "-c",
		blocks[1][1]+"\nbody = os.environ['BODY']\nreceived(body.encode(), {'Service-Signature': webhook.sign(body, '"+secret+"')})\n")
	require.Equal(t, "paid: ORD-1 9007199254740991 NGN\n", output)
	_, path := layOut(t)
	output = devtest.Run(t, t.TempDir(), []string{path, "SHOP_URL=" + dev.URL, "SHOP_KEY=" + dev.Key}, python(t, "httpx"), "-W",
		"error",
		"-c", blocks[2][1])
	require.Greater(t, strings.Count(output, " XAF\n"), 3)
}

const (
	secret    = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	orderPaid = `{"id":"1","type":"order.paid","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},"data":` +
		`{"id":"3","reference":"ORD-1","status":"PAID","amount":9007199254740991,"currency":"NGN","platformFeePercent":2.5,` +
		`"customer":{"id":"4","name":"","email":null,"phone":null},"items":[],"paymentLink":null,"note":null,` +
		`"paidAt":"2026-11-21T12:00:00.000Z","createdAt":"2026-11-21T12:00:00.000Z"}}`
	customerCreated = `{"id":"1","type":"customer.created","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},"data":` +
		`{"id":"3","name":"Awa Ngó","email":null,"phone":"+237670000001","ordersCount":0,"totalPaid":0,"currency":"XAF",` +
		`"createdAt":"2026-11-21T12:00:00.000Z"}}`
)

// Each recipe is run unchanged and gets deliveries.
func TestRecipes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("recipes", "*.py"))
	require.NoError(t, err)
	require.Len(t, files, len(recipes))
	_, path := layOut(t)
	for name, needs := range recipes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := devtest.FreeAddress(t)
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			server := exec.Command(python(t, needs.modules...), filepath.Join("recipes", name))
			server.Env = append(os.Environ(), path, "PORT="+port, "WEBHOOK_SECRET="+secret, "PYTHONDONTWRITEBYTECODE=1")
			devtest.CheckReceiver(t, server, syscall.SIGTERM, needs.exitCode, address, secret, customerCreated,
				"Awa Ngó +237670000001")
		})
	}
}
