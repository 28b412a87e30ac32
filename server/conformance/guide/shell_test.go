package guide_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

const verifying = "Verify deliveries"

// prelude makes a script stop at the first error or refused request.
const prelude = "set -eu\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n"

func runShell(t *testing.T, all []block, dev devtest.Server) {
	needs(t, "sh", "curl", "grep", "head", "cut")
	var script strings.Builder
	script.WriteString(prelude)
	for _, b := range in(all, "sh") {
		if b.section != verifying {
			script.WriteString("echo '== " + b.section + "'\n" + b.text)
		}
	}
	// A reader must replace only these words.
	text := script.String()
	now := time.Now().UTC()
	for placeholder, real := range map[string]string{"http://127.0.0.1:8080": dev.URL, "svc_live_…": dev.Key,
		"from=2026-11-01T00:00:00Z": "from=" + now.AddDate(0, 0, -60).Format(time.RFC3339),
		"to=2026-12-01T00:00:00Z":   "to=" + now.Format(time.RFC3339)} {
		require.Equal(t, 1, strings.Count(text, placeholder), placeholder)
		text = strings.ReplaceAll(text, placeholder, real)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", text)
	command.Dir = t.TempDir()
	results := output(t, command)
	for _, want := range []string{
		`"pageSize":2,`, `"phone":"+237670000001"`, `"priceAmount":12000,"compareAtAmount":15000,`, `"compareAtAmount":null,`,
		"== Typed clients\n" + `{"page":1,"pageSize":2,`,
		`"debug":{"statusCode":400,"code":"validation_failed","message":"The request has fields that cannot be used; details.fields lists them.",` +
			`"details":{"fields":[{"field":"pageSize","message":"must be a whole number from 1 to 100"}]},"requestId":"`,
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

func verifyInShell(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	needs(t, "sh", "openssl", "sed", "tr", "cut")
	var script strings.Builder
	script.WriteString(prelude)
	for _, b := range in(all, "sh") {
		if b.section == verifying {
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
	require.Regexp(t, `^signed -?\d+ seconds ago\n$`, output(t, check(string(w.body)), variables(dev, w)...))
	changed := check(string(w.body) + " ")
	changed.Env = append(os.Environ(), variables(dev, w)...)
	require.Error(t, changed.Run(), "another body")
}

// junk has header values that anybody may send as a signature, which the examples must refuse without an exception.
const junk = `["", "t", "t=,v1=", "junk", "t=1,v1=", "v1=00", "t=x,v1=y", "t=1,v1=é", "t=١,v1=0", "t=1=2,v1", ",", "\u0000", "t=1,t=2"]`

func verifyInPython(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	verifyIn(t, all, dev, w, "python", "python3", "-c", `
import json, os, sys, time
body, now = sys.stdin.buffer.read(), int(time.time())
header, secret = os.environ["SIGNATURE"], os.environ["WEBHOOK_SECRET"]
junk = [None, *json.loads(os.environ["JUNK"]), header + "0", header + "\n", header[:-1], " " + header]
print(json.dumps([verified(header, body, secret, now), verified(header + ",v2=later", body, secret, now), verified(header, body + b" ", secret, now),
      verified(header, body, secret + "x", now), verified(header, body, secret, now + 3600), verified(header, body, secret, now - 3600),
      [one for one in junk if verified(one, body, secret, now) is not False]], separators=(",", ":")))
`)
}

func verifyInPHP(t *testing.T, all []block, dev devtest.Server, w *webhook) {
	verifyIn(t, all, dev, w, "php", "php", "-r", `
$body = file_get_contents('php://stdin');
$now = time();
[$header, $secret] = [getenv('SIGNATURE'), getenv('WEBHOOK_SECRET')];
$junk = [null, ...json_decode(getenv('JUNK')), $header . '0', $header . "\n", substr($header, 0, -1), ' ' . $header];
echo json_encode([verified($header, $body, $secret, $now), verified($header . ',v2=later', $body, $secret, $now), verified($header, $body . ' ', $secret, $now),
    verified($header, $body, $secret . 'x', $now), verified($header, $body, $secret, $now + 3600), verified($header, $body, $secret, $now - 3600),
    array_values(array_filter($junk, fn ($one) => verified($one, $body, $secret, $now) !== false))]), "\n";
`)
}

// verifyIn runs the guide's block with the function verified, followed by calls, which calls it.
func verifyIn(t *testing.T, all []block, dev devtest.Server, w *webhook, language, interpreter, flag, calls string) {
	needs(t, interpreter)
	var script strings.Builder
	for _, b := range in(all, language) {
		if strings.Contains(b.text, " verified(") { // the guide's blocks without this function need the client
			script.WriteString(strings.TrimPrefix(b.text, "<?php\n"))
		}
	}
	script.WriteString(calls)
	command := exec.CommandContext(t.Context(), interpreter, flag, script.String())
	command.Stdin = bytes.NewReader(w.body)
	require.Equal(t, "[true,true,false,false,false,false,[]]\n", output(t, command, append(variables(dev, w), "JUNK="+junk)...))
}
