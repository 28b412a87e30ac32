package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// maxLines is the length that no file written by hand passes, tests aside.
const maxLines = 400

// source is one Go file of the project.
type source struct {
	path  string // from the top of the project, with slashes
	file  *ast.File
	lines int
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// sources are the Go files under the top of the project that are not generated, whatever system
// they are built for.
func sources(t *testing.T) []source {
	t.Helper()
	var found []source
	err := fs.WalkDir(os.DirFS(top), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && (name == "gen" || name == "node_modules" || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(top, filepath.FromSlash(name)), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found = append(found, source{name, file, files.File(file.FileStart).LineCount()})
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// top is the top of the project, seen from the folder that this test runs in.
const top = "../.."

// rule is a depguard rule of .golangci.yml in its lax mode: an import is refused when it starts
// with a denied path, unless it starts with a longer allowed one.
type rule struct {
	ListMode string `yaml:"list-mode"`
	Files    []string
	Allow    []string
	Deny     []struct{ Pkg, Desc string }
}

func rules(t *testing.T) map[string]rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, ".golangci.yml"))
	require.NoError(t, err)
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]rule }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	require.NotEmpty(t, config.Linters.Settings.Depguard.Rules)
	return config.Linters.Settings.Depguard.Rules
}

// covers tells whether the rule is about the file.
func (r rule) covers(file string) bool {
	wanted, named := true, false
	for _, glob := range r.Files {
		glob, not := strings.CutPrefix(glob, "!")
		match := fileMatches(glob, file)
		switch {
		case not && match:
			return false
		case !not:
			wanted = (named && wanted) || match
			named = true
		}
	}
	return wanted
}

func fileMatches(glob, file string) bool {
	if glob == "$test" {
		return strings.HasSuffix(file, "_test.go")
	}
	glob = strings.TrimPrefix(glob, "${config-path}/")
	pattern := regexp.QuoteMeta(glob)
	pattern = strings.ReplaceAll(pattern, `\*\*`, `.*`)
	pattern = strings.ReplaceAll(pattern, `\*`, `[^/]*`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(file)
}

// refusal is the reason why the import is refused, or "".
func (r rule) refusal(imported string) string {
	for _, deny := range r.Deny {
		exact, only := strings.CutSuffix(deny.Pkg, "$")
		if only && imported != exact || !strings.HasPrefix(imported, exact) {
			continue
		}
		if !slices.ContainsFunc(r.Allow, func(allow string) bool { return len(allow) > len(exact) && strings.HasPrefix(imported, allow) }) {
			return deny.Desc
		}
	}
	return ""
}

func TestEveryImportFollowsTheArrows(t *testing.T) {
	t.Parallel()
	all := rules(t)
	for _, s := range sources(t) {
		for name, r := range all {
			if !r.covers(s.path) {
				continue
			}
			for _, spec := range s.file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				if reason := r.refusal(imported); reason != "" {
					t.Errorf("%s imports %s: %s (rule %s of .golangci.yml)", s.path, imported, reason, name)
				}
			}
		}
	}
}

func TestEveryArrowIsReadAsTheLinterReadsIt(t *testing.T) {
	t.Parallel()
	for name, r := range rules(t) {
		require.Equal(t, "lax", r.ListMode, "%s: the test above knows this mode only", name)
		require.NotEmpty(t, r.Deny, name)
		for _, deny := range r.Deny {
			require.NotEmpty(t, deny.Desc, "%s: %s has no reason", name, deny.Pkg)
		}
		for _, one := range r.Allow {
			for _, other := range r.Allow {
				require.False(t, one != other && strings.HasPrefix(one, other), "%s: %s stands within %s, which depguard misreads", name, one, other)
			}
		}
	}
	for _, row := range []struct {
		rule, file, imported string
		refused              bool
		because              string
	}{
		{"ent-wire", "ent/wire/json.go", "go.storefront.example/server/service", true, "data knows no server"},
		{"ent-resource", "ent/resource/store.go", "go.storefront.example/gen/ent", false, "a longer allowed path wins"},
		{"ent-wire", "ent/wire/json.go", "strings", false, "what is not denied is allowed"},
		{"ent-wire", "ent/wire/json_test.go", "go.storefront.example/server/service", false, "the rule leaves tests out"},
		{"ent-wire", "ent/resource/resource.go", "go.storefront.example/server/service", false, "the rule is about another room"},
		{"server", "server/server.go", "go.storefront.example/worker", true, "files of the room itself count"},
		{"server", "server/rest/edge_test.go", "go.storefront.example/cmd/storefront", true, "tests count where they are not left out"},
		{"client", "client/client.go", "go.storefront.example/gen/ent", true, "tables are nothing of a caller's"},
		{"client", "client/webhook/webhook.go", "go.storefront.example/worker/signature", false, "the leaf that signs"},
		{"client", "client/webhook/webhook.go", "go.storefront.example/worker/egress", true, "the other leaf"},
		{"vanguard", "server/service/shop.go", "connectrpc.com/vanguard", true, "everywhere but behind its door"},
		{"vanguard", "server/rest/transcode.go", "connectrpc.com/vanguard", false, "behind its door"},
		{"logging", "server/server.go", "log", true, "an exact path"},
		{"logging", "server/server.go", "log/slog", false, "an exact path is no prefix"},
	} {
		r, found := rules(t)[row.rule]
		require.True(t, found, row.rule)
		refused := r.covers(row.file) && r.refusal(row.imported) != ""
		require.Equal(t, row.refused, refused, "%s: %s importing %s: %s", row.rule, row.file, row.imported, row.because)
	}
}

func TestEveryFolderHasOnePackageComment(t *testing.T) {
	t.Parallel()
	comments := map[string][]string{}
	for _, s := range sources(t) {
		folder := path.Dir(s.path)
		if s.test() || !built(s) {
			continue
		}
		if comments[folder] == nil {
			comments[folder] = []string{}
		}
		if s.file.Doc != nil {
			comments[folder] = append(comments[folder], path.Base(s.path))
		}
	}
	for folder, files := range comments {
		require.Len(t, files, 1, "%s: package comments in %v, and there must be one", folder, files)
	}
}

// built is false for a program that stands beside a package and is only ever run by go generate.
func built(s source) bool {
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			if comment.Text == "//go:build ignore" {
				return false
			}
		}
	}
	return true
}

func TestEveryFileIsShortEnoughToRead(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test() && s.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by noun", s.path, s.lines, maxLines)
		}
	}
}

func TestEveryPackageIsNamedAfterWhatItOwns(t *testing.T) {
	t.Parallel()
	rooms := []string{"client", "cmd", "ent", "proto", "server", "worker"}
	catchAll := []string{"common", "helpers", "misc", "models", "shared", "types", "util", "utils"}
	for _, s := range sources(t) {
		folder := path.Dir(s.path)
		room, _, _ := strings.Cut(folder, "/")
		require.Contains(t, rooms, room, "%s stands outside the rooms", s.path)
		for _, element := range strings.Split(folder, "/") {
			require.NotContains(t, catchAll, element, "%s: name the package after what it owns", s.path)
		}
	}
}

func TestEverythingUnderGenIsGenerated(t *testing.T) {
	t.Parallel()
	generated := regexp.MustCompile(`(?m)^// (Code generated .* DO NOT EDIT\.|@generated by .*)$`)
	err := fs.WalkDir(os.DirFS(filepath.Join(top, "gen")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(top, "gen", filepath.FromSlash(name)))
		require.NoError(t, err)
		if extension := path.Ext(name); extension == ".go" || extension == ".ts" {
			require.Regexp(t, generated, string(text), "gen/%s was not generated", name)
		}
		return nil
	})
	require.NoError(t, err)
}
