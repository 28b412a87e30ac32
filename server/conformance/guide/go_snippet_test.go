package guide_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

// imports has the import of a name in the guide's Go functions, by its beginning, such as "client.". The first block has its
// own.
var imports = map[string]string{
	"client.":              `"go.storefront.example/client"`,
	"connect.":             `"connectrpc.com/connect"`,
	"context.":             `"context"`,
	"errors.":              `"errors"`,
	"fmt.":                 `"fmt"`,
	"http.":                `"net/http"`,
	"os.":                  `"os"`,
	"time.":                `"time"`,
	"storefrontv1.":        `storefrontv1 "go.storefront.example/gen/storefront/v1"`,
	"storefrontv1connect.": `"go.storefront.example/gen/storefront/v1/storefrontv1connect"`,
	"webhook.":             `"go.storefront.example/client/webhook"`,
}

// runGo builds the guide's Go blocks in a module that requires only this project. The first block and the receiver are
// programs; testdata/main.go calls the others.
func runGo(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	for i, b := range in(all, "go") {
		if strings.HasPrefix(b.text, "package main\n") {
			write(map[bool]string{true: "receiver", false: "start"}[b.section == verifying]+"/main.go", b.text)
			continue
		}
		var named []string
		for use, path := range imports {
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(use)).MatchString(b.text) {
				named = append(named, path)
			}
		}
		slices.Sort(named)
		write(fmt.Sprintf("parts/%d.go", i), "package main\n\nimport (\n"+strings.Join(named, "\n")+"\n)\n\n// From the section "+
			b.section+"\n\n"+b.text)
	}
	main, err := os.ReadFile(filepath.Join("testdata", "main.go"))
	require.NoError(t, err)
	write("parts/main.go", string(main))
	for name, text := range together(samples(t, dev, "go")) {
		write(name, text)
	}
	// With the project's go.sum, the go command needs no network to verify the modules.
	sums, err := os.ReadFile(filepath.Join(devtest.Root(t), "go.sum"))
	require.NoError(t, err)
	write("go.sum", string(sums))

	goes := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir, command.Stdin = folder, bytes.NewReader(w.body)
		return output(t, command, append(variables(dev, w), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")...)
	}
	devtest.NeedModules(t)
	goes("mod", "init", "guide.example")
	goes("mod", "edit", "-require=go.storefront.example@v0.0.0", "-replace=go.storefront.example="+devtest.Root(t))
	goes("mod", "tidy")
	goes("vet", "./...")
	require.Greater(t, strings.Count(goes("run", "./start"), "XAF\n"), 3, "the published products")
	require.Equal(t, results, goes("run", "./parts"))
	requireResults(t, goes("run", "./samples"))
	goes("build", "-o", "receive", "./receiver")
	runReceiver(t, dev, w, folder, filepath.Join(folder, "receive"))
}

// results is the output of testdata/main.go and testdata/main.ts.
const results = `missing: content
typed: product_incomplete
archived: true
`
