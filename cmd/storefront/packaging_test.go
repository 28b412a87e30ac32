package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const grace = 10 * time.Second

func requireCommand(t *testing.T, args ...string) {
	t.Helper()
	none := &settings{env: func(string) (string, bool) { return "", false }}
	parser, err := newParser(&cli{}, kong.Name("storefront"), kong.Writers(io.Discard, io.Discard), kong.Resolvers(none),
		kong.Bind(none))
	require.NoError(t, err)
	_, err = parser.Parse(args)
	require.NoError(t, err, "%v", args)
}

func requireVariable(t *testing.T, name string) {
	t.Helper()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	require.Contains(t, variables(parser.Model.Node), name, "a variable that nothing reads")
}

var anyVariable = regexp.MustCompile(`STOREFRONT_[A-Z_]+`)

func TestComposeFileFitsTheCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Image       string
			Build       struct{ Args map[string]string }
			Command     []string
			Environment map[string]string
			ReadOnly    bool          `yaml:"read_only"`
			Grace       time.Duration `yaml:"stop_grace_period"`
			CapDrop     []string      `yaml:"cap_drop"`
			Ports       []string
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Healthcheck struct{ Test []string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Len(t, file.Services, 7, "three of them on Citus alone")
	require.NotEmpty(t, file.Services["postgres"].Healthcheck.Test)
	for _, name := range []string{"migrate", "server", "worker"} {
		s := file.Services[name]
		requireCommand(t, s.Command...)
		require.Equal(t, name, s.Command[0])
		for v := range s.Environment {
			requireVariable(t, v)
		}
		for _, needed := range []string{"STOREFRONT_DATABASE_URL", "STOREFRONT_SECRET_KEY", "STOREFRONT_ADMIN_TOKEN"} {
			require.Contains(t, s.Environment[needed], ":?", "%s of %s has no default", needed, name)
		}
		require.True(t, s.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Equal(t, map[string]string{"VERSION": "${VERSION:-}", "COMMIT": "${COMMIT:-}"}, s.Build.Args, name)
		if name != "migrate" {
			require.NotEmpty(t, s.Environment["STOREFRONT_ADMIN_ADDR"], "health asks there")
			require.Equal(t, []string{"CMD", "/storefront"}, s.Healthcheck.Test[:2], name)
			requireCommand(t, s.Healthcheck.Test[2:]...)
			require.Greater(t, s.Grace, grace, name)
			require.Equal(t, "service_completed_successfully", s.DependsOn["migrate"].Condition, name)
		}
		for _, port := range s.Ports {
			require.Regexp(t, `^127\.0\.0\.1:`, port, "nothing is open to the network by itself")
		}
	}
	for _, name := range anyVariable.FindAllString(string(text), -1) {
		requireVariable(t, name)
	}
}

func TestComposeFileOfOneMachineFitsTheCommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("machine.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
			Grace       time.Duration `yaml:"stop_grace_period"`
			Volumes     []string
			Healthcheck struct{ Test []string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	s := file.Services["storefront"]
	requireCommand(t, s.Command...)
	requireCommand(t, s.Healthcheck.Test[2:]...)
	require.Subset(t, s.Command, []string{"--migrate", "--worker", "--backup-to"})
	require.Greater(t, s.Grace, grace)
	require.Equal(t, []string{"data:/data"}, s.Volumes, "where the image keeps its SQLite file")
	for v, value := range s.Environment {
		requireVariable(t, v)
		require.True(t, v == "STOREFRONT_ACME_EMAIL" || strings.Contains(value, ":?"), "%s has no default", v)
	}
}

// unit maps "Section.Key" to the values of that key in their order.
type unit map[string][]string

func parseUnit(t *testing.T, path string) unit {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, name := range anyVariable.FindAllString(string(text), -1) {
		requireVariable(t, name)
	}
	u, section := unit{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, value, assigned := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		default:
			require.True(t, assigned, "%s: %q", path, line)
			u[section+"."+key] = append(u[section+"."+key], value)
		}
	}
	return u
}

// installed is found by systemd in /usr/local/bin, where a person installs it, or in the package's /usr/bin.
const installed = "storefront"

func secretsOf(t *testing.T, command string) (credentials []string) {
	t.Helper()
	parser, err := newParser(&cli{}, kong.Bind(&settings{}))
	require.NoError(t, err)
	node := childNamed(parser.Model.Node, command)
	if sub, has := map[string]string{"migrate": "up", "backup": "create"}[command]; has {
		node = childNamed(node, sub)
	}
	for _, flag := range flagsOf(node) {
		if flag.Tag.Has(secretTag) {
			credentials = append(credentials, credentialPrefix+flag.Name)
		}
	}
	require.NotEmpty(t, credentials)
	return credentials
}

// oneMachine listens on ports 80 and 443, in place of the other units.
const oneMachine = "systemd/storefront.service"

func TestUnitsFitTheCommandsAndAreHardenedAlike(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("systemd/*.service")
	require.NoError(t, err)
	require.Len(t, paths, 5)
	first := parseUnit(t, paths[0])
	for _, path := range paths {
		u := parseUnit(t, path)
		require.Len(t, u["Service.ExecStart"], 1)
		command := strings.Fields(u["Service.ExecStart"][0])
		require.Equal(t, installed, command[0])
		requireCommand(t, command[1:]...)
		require.ElementsMatch(t, secretsOf(t, command[1]), u["Service.LoadCredential"], path)
		for _, key := range []string{
			"User", "EnvironmentFile", "StateDirectory", "WorkingDirectory", "CapabilityBoundingSet", "NoNewPrivileges", "ProtectSystem",
			"ProtectHome",
			"PrivateDevices", "PrivateTmp", "MemoryDenyWriteExecute", "RestrictAddressFamilies", "SystemCallFilter", "UMask",
		} {
			require.NotEmpty(t, u["Service."+key], "%s: %s", path, key)
			if want := first["Service."+key]; key != "CapabilityBoundingSet" || path != oneMachine {
				require.Equal(t, want, u["Service."+key], "%s: %s", path, key)
			}
		}
		if path == oneMachine {
			require.Equal(t, []string{"CAP_NET_BIND_SERVICE"}, u["Service.CapabilityBoundingSet"])
			require.Equal(t, []string{"CAP_NET_BIND_SERVICE"}, u["Service.AmbientCapabilities"])
			require.Contains(t, u["Unit.Conflicts"][0], "storefront-worker.service")
			continue
		}
		if !strings.Contains(path, "migrate") && !strings.Contains(path, "backup") {
			stop, err := time.ParseDuration(u["Service.TimeoutStopSec"][0] + "s")
			require.NoError(t, err)
			require.Greater(t, stop, grace, path)
			require.Equal(t, []string{"storefront-migrate.service"}, u["Unit.Requires"], path)
			require.Contains(t, u["Unit.After"][0], "storefront-migrate.service", path)
		}
	}
}

// The timer's backup unit has its name. It may write to its folder, which the package creates.
func TestTheTimerStartsABackup(t *testing.T) {
	t.Parallel()
	timer, service := parseUnit(t, "systemd/storefront-backup.timer"), parseUnit(t, "systemd/storefront-backup.service")
	require.NotEmpty(t, timer["Timer.OnCalendar"])
	require.Equal(t, []string{"true"}, timer["Timer.Persistent"], "a machine may be off at night")
	require.Equal(t, []string{"timers.target"}, timer["Install.WantedBy"])
	folder := strings.Fields(service["Service.ExecStart"][0])[3]
	require.Equal(t, []string{"-" + folder}, service["Service.ReadWritePaths"])
	require.Equal(t, service["Service.ReadWritePaths"], parseUnit(t, oneMachine)["Service.ReadWritePaths"])
	for _, script := range []string{"systemd/postinst", "manual/install.md"} {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		require.Contains(t, string(text), "install -d -o storefront -g storefront -m 700 "+folder+"\n")
	}
}

// People run commands with the units' settings.
func TestSampleOfSettingsIsReadByAShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	text, err := os.ReadFile("systemd/storefront.env")
	require.NoError(t, err)
	for _, name := range anyVariable.FindAllString(string(text), -1) {
		requireVariable(t, name)
	}
	out, err := exec.CommandContext(t.Context(), shell, "-ec",
		". ./systemd/storefront.env; echo $STOREFRONT_DATABASE_URL $STOREFRONT_ADDR").Output()
	require.NoError(t, err)
	require.Equal(t, "postgres://storefront:PASSWORD@127.0.0.1:5432/storefront 127.0.0.1:8080\n", string(out))
}

func TestSystemdAcceptsTheUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	binary, err := exec.LookPath("storefront")
	require.NoError(t, err)
	folder := t.TempDir()
	paths, err := filepath.Glob("systemd/*.service")
	require.NoError(t, err)
	timers, err := filepath.Glob("systemd/*.timer")
	require.NoError(t, err)
	args := []string{"verify", "--man=no"}
	for _, path := range append(paths, timers...) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		copied := filepath.Join(folder, filepath.Base(path))
		require.NoError(t, os.WriteFile(copied, []byte(strings.ReplaceAll(string(text), "ExecStart="+installed, "ExecStart="+binary)),
			0o600))
		args = append(args, copied)
	}
	verify := exec.CommandContext(t.Context(), analyze, args...)
	// systemd-analyze reads the units in folder, not those of this machine.
	verify.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+folder+":")
	out, err := verify.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

func TestImageIsBuiltFromEveryRoomThatTheBinaryNeeds(t *testing.T) {
	t.Parallel()
	ignore, err := os.ReadFile("../../.dockerignore")
	require.NoError(t, err)
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{if eq .ImportPath .Module.Path}}{{range .GoFiles}}/{{.}}{{end}}{{range .EmbedFiles}}\n/{{.}}{{end}}{{end}}{{end}}{{end}}", ".")
	out, err := list.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Greater(t, len(packages), 20)
	for _, p := range packages {
		_, below, _ := strings.Cut(p, "/")
		require.True(t, slices.ContainsFunc(strings.Split(string(ignore), "\n"), func(line string) bool {
			folder, kept := strings.CutPrefix(line, "!")
			return kept && strings.HasPrefix(below+"/", folder+"/")
		}), "%s is not in .dockerignore", p)
	}
}

type place struct{ file, pattern string }

func requireOneVersion(t *testing.T, places ...place) {
	t.Helper()
	var want string
	for _, p := range places {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(p.file)))
		require.NoError(t, err)
		found := regexp.MustCompile(p.pattern).FindStringSubmatch(string(text))
		require.NotNil(t, found, p.file)
		want = cmp.Or(want, found[1])
		require.Equal(t, want, found[1], p.file)
	}
}

// The workflow and .ci/install read go.mod and package.json, which has the oldest version of Node.
func TestEveryFileNamesOneGoAndOneNode(t *testing.T) {
	t.Parallel()
	const line = `(?m)^go (\d+\.\d+)`
	requireOneVersion(t, place{"go.mod", line}, place{"tools.mod", line}, place{"cmd/bench/go.mod", line},
		place{"client/webhook/recipes/gin/go.mod", line}, place{"client/webhook/recipes/net_http/go.mod", line},
		place{"Dockerfile", `golang:(\d+\.\d+)-`}, place{"README.md", `Go (\d+\.\d+),`},
		place{"cmd/storefront/manual/install.md", `Go (\d+\.\d+) or later builds`})
	requireOneVersion(t, place{"package.json", `"node": ">=(\d+)"`}, place{"CONTRIBUTING.md", `Node (\d+) or later`},
		place{"server/conformance/devtest/devtest.go", `oldestNode = (\d+)`})
}

// The clients and the chart have one version. RELEASING.md lists the files with it.
func TestPackagesHaveOneVersion(t *testing.T) {
	t.Parallel()
	requireOneVersion(t, []place{
		{"client/typescript/package.json", `"version": "(.+)"`}, {"client/typescript/src/version.ts", `version = "(.+)"`},
		{"client/php/src/Client.php", `VERSION = '(.+)'`}, {"client/python/storefront_client/_version.py", `__version__ = "(.+)"`},
		{"client/python/pyproject.toml", `(?m)^version = "(.+)"`}, {"cmd/storefront/helm/Chart.yaml", `(?m)^version: (.+)`},
		{"cmd/storefront/helm/Chart.yaml", `(?m)^appVersion: (.+)`},
	}...)
}

// A package must not have the number of a release that it was not part of.
func TestPackagesHaveTheVersionOfTheNextRelease(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(text)
	}
	version := regexp.MustCompile(`"version": "(\d+)\.(\d+)\.\d+"`).FindStringSubmatch(read("client/typescript/package.json"))
	require.NotNil(t, version)
	if strings.Contains(read("CHANGELOG.md"), "\n## [Unreleased]\n") {
		month, err := strconv.Atoi(version[2])
		require.NoError(t, err)
		require.NotContains(t, read("CHANGELOG.md"), fmt.Sprintf("\n## [%s-%02d]\n", version[1], month))
	}
}

// Pages and comments name a choice of CONTRACT.md by its number, which is permanent.
func TestEveryChoiceThatIsNamedIsInTheContract(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "..")
	contract, err := os.ReadFile(filepath.Join(top, "proto", "CONTRACT.md"))
	require.NoError(t, err)
	choices := map[string]bool{}
	for _, m := range regexp.MustCompile(`\| <a id="c(\d+)"></a>(\d+) \|\n`).FindAllStringSubmatch(string(contract), -1) {
		require.Equal(t, m[1], m[2])
		require.False(t, choices[m[1]], "choice %s is there twice", m[1])
		choices[m[1]] = true
	}
	named := map[string]string{}
	for _, folder := range []string{"client", "ent", "proto", "server", "worker"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(top, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".proto", ".ts"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range regexp.MustCompile(`CONTRACT\.md, choices? (\d+)`).FindAllSubmatch(text, -1) {
				named[string(m[1])] = path
			}
			return err
		}))
	}
	require.NotEmpty(t, named)
	for number, where := range named {
		require.True(t, choices[number], "%s names choice %s", where, number)
	}
}

// The manual's override passes secrets in files instead of variables.
func TestComposeOverrideOfTheManual(t *testing.T) {
	t.Parallel()
	_, block, found := strings.Cut(manualPage(t, "configure.md"), "\n```yaml\n# compose.override.yaml")
	require.True(t, found)
	_, block, _ = strings.Cut(block, "\n")
	block, _, _ = strings.Cut(block, "\n```\n")
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Secrets     []string
		}
		Secrets map[string]struct{ File string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(block), &file))
	require.Len(t, file.Services, 3)
	for name, service := range file.Services {
		require.Contains(t, []string{"migrate", "server", "worker"}, name)
		require.Empty(t, service.Environment["STOREFRONT_SECRET_KEY"], "beside its file it would be refused")
		for v := range service.Environment {
			requireVariable(t, v)
		}
		for _, secret := range service.Secrets {
			require.Contains(t, file.Secrets, secret)
			require.Contains(t, service.Environment["STOREFRONT_SECRET_KEY_FILE"], "/run/secrets/"+secret)
		}
	}
}

func TestMovingInNamesEveryFieldOfAnImport(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("importfile/sources.yaml")
	require.NoError(t, err)
	var sources struct{ Fields map[string][]string }
	require.NoError(t, yaml.Unmarshal(text, &sources))
	page, err := os.ReadFile("IMPORT.md")
	require.NoError(t, err)
	_, own, found := strings.Cut(string(page), "\n### Your own files\n")
	require.True(t, found)
	require.Len(t, sources.Fields, 3)
	for kind, m := range map[string]proto.Message{"products": &storefrontv1.Product{}, "customers": &storefrontv1.Customer{},
		"orders": &storefrontv1.Order{}} {
		for i := range m.ProtoReflect().Descriptor().Fields().Len() {
			sources.Fields[kind] = append(sources.Fields[kind], m.ProtoReflect().Descriptor().Fields().Get(i).JSONName())
		}
	}
	for kind, fields := range sources.Fields {
		for _, field := range fields {
			require.Contains(t, own, "`"+field+"`", kind)
		}
	}
}
