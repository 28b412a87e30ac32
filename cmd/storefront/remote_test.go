package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
)

const remoteToken = "a-token-of-the-operator-for-tests"

func startServer(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	logs, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		noEnv := func(string) (string, bool) { return "", false }
		ended <- run(ctx, append([]string{"server", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}, args...), noEnv,
			strings.NewReader(""), io.Discard, w)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(logs)
	var line struct {
		AdminAddr string `json:"admin_addr"`
	}
	var all strings.Builder
	for line.AdminAddr == "" && lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
		}
	}()
	t.Cleanup(func() {
		stop()
		require.Equal(t, 0, <-ended)
		<-drained
		require.NotContains(t, all.String(), remoteToken, "no token is logged")
		require.NotRegexp(t, "svc_live_[0-9A-Za-z]{42}|whsec_", all.String(), "no key and no secret is logged")
	})
	require.NotEmpty(t, line.AdminAddr, all.String())
	return "http://" + line.AdminAddr
}

// The scripts run with one kind of database, because other tests run them on each.
func TestCommandsThroughAServer(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the scripts of commands a second time, through a server")
	scripts := []string{"testdata/remote/same.txtar", "testdata/remote/refused.txtar"}
	// These scripts have commands that need the database itself.
	for _, script := range []string{
		"store", "key", "product", "order", "link", "name", "webhook", "delivery", "dashboard", "import", "import_bad",
		"import_files",
	} {
		scripts = append(scripts, "testdata/script/"+script+".txtar")
	}
	testscript.Run(t, testscript.Params{
		Files: scripts, Cmds: scriptCommands, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			url := dbtest.URL(t, dbtest.SQLite)
			e.Setenv("DATABASE_URL", url)
			e.Setenv("STOREFRONT_DATABASE_URL", "postgres://nobody@127.0.0.1:1/nowhere")
			e.Setenv("STOREFRONT_ADMIN_URL", startServer(t, "--database-url", url, "--admin-token", remoteToken,
				"--secret-key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="))
			e.Setenv("GOGC", "400") // otherwise a third of a command's time is garbage collection
			e.Setenv("STOREFRONT_ADMIN_TOKEN", remoteToken)
			return nil
		},
	})
}

var operatorLine = regexp.MustCompile(`operator +(http://[^ ]+)`)

// Programs on this machine can operate dev without a token. A web page in a browser cannot.
func TestDevIsOperatedWithoutAToken(t *testing.T) {
	t.Parallel()
	dev := startCommand(t, "Ctrl-C", devArgs(t.TempDir())...)
	line := operatorLine.FindStringSubmatch(dev.said)
	require.NotNil(t, line, dev.said)
	var out, errs bytes.Buffer
	noEnv := func(string) (string, bool) { return "", false }
	require.Equal(t, 0, run(t.Context(), []string{"store", "show", demoSlug, "--admin-url", line[1], "-o", "json"}, noEnv,
		strings.NewReader(""), &out, &errs), &errs)
	require.Contains(t, out.String(), `"slug":"demo"`)

	for name, row := range map[string]struct{ host, header, value string }{
		"a page of another site":                {"", "Origin", "https://evil.example"},
		"a page that is served from here":       {"", "Sec-Fetch-Site", "same-origin"},
		"a name that was made to point to here": {"evil.example", "X-Any", "x"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, line[1]+"/storefront.admin.v1.StoreService/ListStores",
			strings.NewReader("{}"))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(row.header, row.value)
		if row.host != "" {
			r.Host = row.host
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusForbidden, answer.StatusCode, "%s: %s", name, text)
	}
	require.Equal(t, 0, dev.stop())
}
