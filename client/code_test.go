package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
)

// constants returns the string constants of a file by name, one map for each const declaration.
func constants(t *testing.T, path string) []map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	var all []map[string]string
	for _, declared := range file.Decls {
		group, ok := declared.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		found := map[string]string{}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			found[value.Names[0].Name] = value.Values[0].(*ast.BasicLit).Value
		}
		all = append(all, found)
	}
	return all
}

// statuses returns the HTTP statuses in the comments of a file's Code constants.
func statuses(t *testing.T, path string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := map[string]int{}
	for _, match := range regexp.MustCompile(`Code = "(\w+)" +// (\d{3})`).FindAllStringSubmatch(string(text), -1) {
		found[match[1]], err = strconv.Atoi(match[2])
		require.NoError(t, err)
	}
	return found
}

// The client may not import the server, so both define the codes. The first const declaration in each file has those of the
// public API.
func TestCodesAreTheServices(t *testing.T) {
	t.Parallel()
	ours, theirs := constants(t, "code.go"), constants(t, "../server/apierr/apierr.go")
	require.Greater(t, len(theirs[0]), 20)
	require.Equal(t, theirs[0], ours[0])
	documented := statuses(t, "code.go")
	require.Len(t, documented, len(ours[0]))
	for code, status := range documented {
		require.Equal(t, apierr.New(apierr.Code(code), "").Status(), status, code)
	}
	for name, code := range ours[1] {
		if name == "Canceled" {
			continue // the server has this code too
		}
		for _, group := range theirs {
			for _, other := range group {
				require.NotEqual(t, code, other, "%s is the client's own", name)
			}
		}
	}
}
