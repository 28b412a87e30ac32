// Package program_test builds the program in testdata in a new Go module that requires only this module, and runs it against a
// development server. It also receives every type of event from the server's worker.
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

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

func TestProgramInAnEmptyModule(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it builds a program in a module of its own")
	program := buildProgram(t)
	server := devtest.Build(t).Start(t)

	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), server.Variables()...)
	var logs bytes.Buffer
	command.Stderr = &logs
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	timer := time.AfterFunc(devtest.Timeout, func() { _ = command.Process.Kill() })
	defer timer.Stop()

	lines := bufio.NewReader(output)
	address, err := lines.ReadString('\n')
	require.NoError(t, err, "%s", &logs)
	hook := server.Register(t, strings.TrimSpace(address), "product.archived")
	_, err = io.WriteString(input, hook.Secret+"\n")
	require.NoError(t, err)

	text, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, command.Wait(), "%s", &logs)
	require.Equal(t, `12 products on 3 pages
updated: true ARCHIVED
refused: 422 product_incomplete [content]
event: product.archived true true
`, string(text))
	require.Empty(t, logs.String())
	require.NotContains(t, string(text), server.Key)
}

// buildProgram checks which modules the program's go.mod requires. It needs no network, because this module requires the same
// ones.
func buildProgram(t *testing.T) string {
	t.Helper()
	devtest.NeedModules(t)
	top := devtest.Root(t)
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "main.go"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), text, 0o600))
	// Without this module's go.sum, go would ask the network for the checksums.
	sums, err := os.ReadFile(filepath.Join(top, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.sum"), sums, 0o600))

	environment := []string{"GOFLAGS=", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0"}
	devtest.Run(t, folder, environment, "go", "mod", "init", "crm.example")
	devtest.Run(t, folder, environment, "go", "mod", "edit", "-require=go.storefront.example@v0.0.0",
		"-replace=go.storefront.example="+top)
	devtest.Run(t, folder, environment, "go", "mod", "tidy")
	program := filepath.Join(folder, devtest.Executable("program"))
	devtest.Run(t, folder, environment, "go", "build", "-o", program, ".")

	var module struct{ Require []struct{ Path string } }
	require.NoError(t, json.Unmarshal([]byte(devtest.Run(t, folder, environment, "go", "mod", "edit", "-json")), &module))
	var required []string
	for _, r := range module.Require {
		required = append(required, r.Path)
	}
	require.ElementsMatch(t, []string{
		"go.storefront.example", "connectrpc.com/connect", "google.golang.org/genproto/googleapis/api", "google.golang.org/protobuf",
		"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go", // protovalidate's options in the protos
	}, required)
	return program
}
