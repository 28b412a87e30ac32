package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/gen/openapi"
)

// The document, and the settings of the linters. The settings say why a rule is off.
const (
	redoclySettings  = "redocly.yaml"
	spectralSettings = "spectral.yaml"
	documentFile     = "../../gen/openapi/" + documentName
)

// needLinters returns the paths of the linters' scripts. If Node or the pinned linters are missing, it skips the test, or
// fails it if nothing may be skipped.
func needLinters(t *testing.T) (redocly, spectral string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		need.Missing(t, "the linters of OpenAPI documents need Node: %v", err)
	}
	modules := filepath.Join("..", "..", "node_modules")
	redocly = filepath.Join(modules, "@redocly", "cli", "bin", "cli.js")
	spectral = filepath.Join(modules, "@stoplight", "spectral-cli", "dist", "index.js")
	for _, script := range []string{redocly, spectral} {
		if _, err := os.Stat(script); err != nil {
			need.Missing(t, "the linters of OpenAPI documents are not installed: run npm ci at the top of the project")
		}
	}
	return redocly, spectral
}

// lint runs a linter and returns its output. The linter sends no telemetry and looks for no updates.
func lint(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", arguments...)
	command.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestLintersFindNothing(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the linters of OpenAPI documents")
	redocly, spectral := needLinters(t)
	// Read the files that the linters read. The go command reuses a test's cached result unless a file has changed that the
	// test itself read.
	for _, file := range []string{redoclySettings, spectralSettings, documentFile} {
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
	output, err := lint(t, redocly, "lint", "--config", redoclySettings, "--max-problems", "1000", documentFile)
	require.NoError(t, err, "%s", output)
	output, err = lint(t, spectral, "lint", "--ruleset", spectralSettings, "--fail-severity", "hint", documentFile)
	require.NoError(t, err, "%s", output)
}

func TestLintersSeeAWrongDocument(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the linters of OpenAPI documents")
	redocly, spectral := needLinters(t)
	doc := &document{}
	require.NoError(t, decode([]byte(openapi.Document), doc))
	// Add an example that lacks fields that every product has.
	get := doc.Paths.get("/v1/products/{id}").Get
	get.Responses.get("200").Content.get(mediaTypeJSON).Examples.set("wrong", &example{Value: json.RawMessage(`{"id":"x"}`)})
	text, err := encode(doc)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "wrong.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))

	output, err := lint(t, redocly, "lint", "--config", redoclySettings, file)
	require.Error(t, err)
	require.Contains(t, output, "no-invalid-media-type-examples")
	output, err = lint(t, spectral, "lint", "--ruleset", spectralSettings, "--fail-severity", "hint", file)
	require.Error(t, err)
	require.Contains(t, output, "oas3-valid-media-example")
}
