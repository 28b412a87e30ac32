// Package generators_test generates clients from the OpenAPI document with openapi-typescript and oapi-codegen. It compiles
// them with the strictest settings and lists products with each, to find parts of the document from which generators make wrong
// code.
package generators_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/gen/openapi"
	"go.storefront.example/server/conformance/devtest"
)

func write(t *testing.T, folder, name string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return text
}

func TestGeneratedTypeScriptListsProducts(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it generates a client and runs it against the command")
	modules := devtest.NeedNode(t, "typescript", "@types/node", "openapi-typescript", "openapi-fetch")
	// In node_modules Node finds the packages.
	folder, err := os.MkdirTemp(modules, ".storefront-generated-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	write(t, folder, "storefront.json", []byte(openapi.Document))
	write(t, folder, "package.json", []byte(`{"type":"module"}`))
	write(t, folder, "tsconfig.json", fixture(t, "tsconfig.json"))
	write(t, folder, "list.ts", fixture(t, "list.ts"))
	devtest.Run(t, folder, nil, "node", filepath.Join(modules, "openapi-typescript", "bin", "cli.js"), "storefront.json", "--output",
		"api.d.ts")
	devtest.Run(t, folder, nil, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "--project", ".")
	server := devtest.Build(t).Start(t)
	require.Equal(t, products(t, server), devtest.Run(t, folder, server.Variables(), "node", "list.js"))
}

func TestGeneratedGoListsProducts(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it builds a generator and the client that it makes")
	folder := t.TempDir()
	// tools.mod pins the generator and the library that the generated client needs.
	for from, to := range map[string]string{"tools.mod": "go.mod", "tools.sum": "go.sum"} {
		text, err := os.ReadFile(filepath.Join(devtest.Root(t), from))
		require.NoError(t, err)
		write(t, folder, to, text)
	}
	write(t, folder, "storefront.json", []byte(openapi.Document))
	write(t, folder, "main.go", fixture(t, "list.go.txt"))
	// The go command downloads missing modules, so this may need the network.
	generator := filepath.Join(folder, "bin") + string(filepath.Separator)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", generator,
		"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen", "github.com/oapi-codegen/runtime")
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		need.Missing(t, "oapi-codegen and its runtime need the modules that tools.mod pins: %s", output)
	}
	// Without skip-prune the generator refers to schemas of webhooks that it leaves out.
	devtest.Run(t, folder, nil, generator+"oapi-codegen", "-package", "main", "-generate", "types,client,skip-prune", "-o", "api.go",
		"storefront.json")
	devtest.Run(t, folder, nil, "go", "vet", ".")
	server := devtest.Build(t).Start(t)
	require.Equal(t, products(t, server), devtest.Run(t, folder, server.Variables(), "go", "run", "."))
}

// products returns what the clients must print, read without generated code.
func products(t *testing.T, server devtest.Server) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/products?pageSize=100", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+server.Key)
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
