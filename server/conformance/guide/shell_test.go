package guide_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

// webhooks is the section whose blocks run on a delivery.
const webhooks = "Receiving webhooks"

// prelude makes a refused request an error; curl by itself treats it like any other answer.
const prelude = "set -eu\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n"

// runShell runs the blocks one after the other in one shell, as a reader would.
func runShell(t *testing.T, all []block, dev devtest.Server) {
	needs(t, "sh", "curl", "grep", "cut")
	var script strings.Builder
	script.WriteString(prelude)
	for _, b := range in(all, "sh") {
		if b.section != webhooks {
			script.WriteString("echo '== " + b.section + "'\n" + b.text)
		}
	}
	// The only words that a reader replaces.
	text := script.String()
	for placeholder, real := range map[string]string{"http://127.0.0.1:8080": dev.URL, "svc_live_…": dev.Key} {
		require.Equal(t, 1, strings.Count(text, placeholder), placeholder)
		text = strings.ReplaceAll(text, placeholder, real)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", text)
	command.Dir = t.TempDir()
	results := output(t, command)
	for _, want := range []string{
		`"pageSize":2,`, `"phone":"+237670000001"`, `"priceAmount":12000,"compareAtAmount":15000,`, `"compareAtAmount":null,`,
		"X-RateLimit-Limit: 120", "X-RateLimit-Remaining: ", "X-RateLimit-Reset: ",
	} {
		require.Contains(t, strings.ReplaceAll(results, "X-Ratelimit", "X-RateLimit"), want)
	}
	orders := regexp.MustCompile(`(?m)^"reference":"(.*)"$`).FindAllStringSubmatch(results, -1)
	require.Greater(t, len(orders), 25, "more than a page")
	seen := map[string]bool{}
	for _, order := range orders {
		seen[order[1]] = true
	}
	require.Len(t, seen, len(orders), "each once")
}

func verifyInShell(t *testing.T, all []block, dev devtest.Server, h *hook) {
	needs(t, "sh", "openssl", "sed", "tr", "cut")
	var script strings.Builder
	script.WriteString(prelude)
	for _, b := range in(all, "sh") {
		if b.section == webhooks {
			script.WriteString(b.text)
		}
	}
	folder := t.TempDir()
	check := func(body string) *exec.Cmd {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "body.json"), []byte(body), 0o600))
		command := exec.CommandContext(t.Context(), "sh", "-c", script.String())
		command.Dir = folder
		return command
	}
	require.Regexp(t, `^signed -?\d+ seconds ago\n$`, output(t, check(string(h.body)), variables(dev, h)...))
	changed := check(string(h.body) + " ")
	changed.Env = append(os.Environ(), variables(dev, h)...)
	require.Error(t, changed.Run(), "another body")
}

func verifyInPython(t *testing.T, all []block, dev devtest.Server, h *hook) {
	needs(t, "python3")
	var script strings.Builder
	for _, b := range in(all, "python") {
		script.WriteString(b.text)
	}
	script.WriteString(`
import os, sys, time
body, now = sys.stdin.buffer.read(), time.time()
header, secret = os.environ["SIGNATURE"], os.environ["WEBHOOK_SECRET"]
print(verified(header, body, secret, now), verified(header, body + b" ", secret, now), verified(header, body, secret + "x", now),
      verified(header, body, secret, now + 3600), verified(header, body, secret, now - 3600))
`)
	command := exec.CommandContext(t.Context(), "python3", "-c", script.String())
	command.Stdin = bytes.NewReader(h.body)
	require.Equal(t, "True False False False False\n", output(t, command, variables(dev, h)...))
}
