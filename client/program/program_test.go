// Package program_test builds the program in testdata in a new module that requires nothing but
// this one, and runs it against the development server and its worker in a process of their own; and
// it receives every type of event from that worker. What a caller gets is what works.
package program_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds each wait for a process: the server's start, demo data included, and the program's
// whole run.
const patience = time.Minute

func TestProgramInAnEmptyModule(t *testing.T) {
	t.Parallel()
	top, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	program := buildProgram(t, top)
	server := startDev(t, top)

	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), "STOREFRONT_URL="+server.URL, "STOREFRONT_KEY="+server.Key)
	var logs bytes.Buffer
	command.Stderr = &logs
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	defer timer.Stop()

	lines := bufio.NewReader(output)
	address, err := lines.ReadString('\n')
	require.NoError(t, err, "%s", &logs)
	hook := server.register(t, strings.TrimSpace(address), "product.archived")
	_, err = io.WriteString(input, hook.Secret+"\n")
	require.NoError(t, err)

	said, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, command.Wait(), "%s", &logs)
	require.Equal(t, `12 products on 3 pages
updated: true ARCHIVED
refused: 422 product_incomplete [content]
event: product.archived true true
`, string(said))
	require.Empty(t, logs.String())
	require.NotContains(t, string(said), server.Key)
}

// buildProgram builds the program in a new module. What its go.mod comes to require is what a
// caller takes on. Everything is in the module cache already, since this module needs it too.
func buildProgram(t *testing.T, top string) string {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "main.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), text, 0o600))
	// The sums of this module vouch for the same versions where there is no network.
	sums, err := os.ReadFile(filepath.Join(top, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.sum"), sums, 0o600))

	environment := []string{"GOFLAGS=", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0"}
	run(t, folder, environment, "go", "mod", "init", "crm.example")
	run(t, folder, environment, "go", "mod", "edit", "-require=go.storefront.example@v0.0.0", "-replace=go.storefront.example="+top)
	run(t, folder, environment, "go", "mod", "tidy")
	program := filepath.Join(folder, executable("program"))
	run(t, folder, environment, "go", "build", "-o", program, ".")

	var module struct{ Require []struct{ Path string } }
	require.NoError(t, json.Unmarshal(run(t, folder, environment, "go", "mod", "edit", "-json"), &module))
	var required []string
	for _, r := range module.Require {
		required = append(required, r.Path)
	}
	require.ElementsMatch(t, []string{
		"go.storefront.example", "connectrpc.com/connect", "google.golang.org/genproto/googleapis/api", "google.golang.org/protobuf",
	}, required)
	return program
}
