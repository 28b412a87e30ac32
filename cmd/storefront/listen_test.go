package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/conformance/devtest"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

type ear struct {
	*exec.Cmd
	secret  string
	printed bytes.Buffer
}

func (i installation) listen(args ...string) *ear {
	i.t.Helper()
	c := i.command("storefront", append([]string{"listen"}, args...)...)
	e := &ear{Cmd: c}
	var errs strings.Builder
	read := c.StdoutPipe
	if slices.Contains(args, "--print-json") {
		read, c.Stdout = c.StderrPipe, &e.printed
	} else {
		c.Stderr = &errs
	}
	out, err := read()
	require.NoError(i.t, err)
	require.NoError(i.t, c.Start())
	i.t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if secret, ok := strings.CutPrefix(lines.Text(), "signing secret: "); ok {
			e.secret = secret
		}
		if strings.Contains(lines.Text(), "Ctrl-C") {
			go func() {
				for lines.Scan() { //nolint:revive // Read on, so that the pipe does not fill.
				}
			}()
			return e
		}
	}
	require.FailNow(i.t, "listen ended", "%v: %s", c.Wait(), &errs)
	return nil
}

// types requires that each event forwarded to path is signed and arrived once.
func (e *ear) types(t *testing.T, r *newcomer, path string) []string {
	t.Helper()
	var types []string
	seen := map[string]bool{}
	for _, d := range r.at(path) {
		require.NoError(t, signature.Verify(d.header.Get(signature.Header), d.body, e.secret, time.Now(), signature.Tolerance))
		id := d.header.Get(signature.EventIDHeader)
		require.False(t, seen[id], "%s came twice", id)
		seen[id] = true
		types = append(types, d.eventType())
	}
	return types
}

func counts(t *testing.T, d *db.DB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, table := range []string{
		"stores", "products", "customers", "orders", "payment_links", "api_keys", "webhooks", "events", "deliveries",
		"finished_deliveries",
		"resends", "forgettings", "sessions", "sign_in_links", "activity_entries", "idempotency_keys",
	} {
		var n int
		require.NoError(t, d.Reader().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n), table)
		all[table] = n
	}
	return all
}

func TestTheReasonOfAFailureIsOneHarmlessLine(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"":      "",
		" \n\n": "",
		"the secret is another one\nat receive (app.js:5)": ": the secret is another one",
		"{\n  \"error\": \"no header\"\n}":                 `: "error": "no header"`,
		"{\"error\":\"no header\"}":                        `: {"error":"no header"}`,
		"a\u202eb\tc":                                      `: "a\u202eb\tc"`,
		strings.Repeat("é", maxReason):                     ": " + strings.Repeat("é", maxReason),
		strings.Repeat("é", maxReason+1):                   ": " + strings.Repeat("é", maxReason) + "…",
	} {
		require.Equal(t, want, reason(egress.Result{Problem: "status 400", Answer: answer}), answer)
	}
}

// net/http would log, without limit, the bytes that a receiver sends outside answers.
func TestUnaskedAnswersArePrintedNowhere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted on Windows")
	}
	receiver, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, receiver.Close()) })
	closed := make(chan struct{}, 10)
	go func() {
		for conn, err := receiver.Accept(); err == nil; conn, err = receiver.Accept() {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\nunasked")
			_, _ = io.Copy(io.Discard, conn)
			closed <- struct{}{}
		}
	}()
	on := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite)}}
	on.run(nil, "store", "create", "--name", "Shop", "--slug", "shop", "--currency", "XAF", "--country", "CM")
	serving := on.with("STOREFRONT_ADMIN_TOKEN", remoteToken).start("storefront", "listening", "server", "--addr", "127.0.0.1:0",
		"--admin-addr", "127.0.0.1:0", "--drain-delay", "0s")
	far := installation{t, map[string]string{"STOREFRONT_ADMIN_URL": "http://" + serving.AdminAddr,
		"STOREFRONT_ADMIN_TOKEN": remoteToken}}
	ear := far.listen("--forward-to", receiver.Addr().String())
	far.run(nil, "trigger", "ping", "--yes")
	select {
	case <-closed:
	case <-time.After(time.Minute):
		require.FailNow(t, "the connection is kept")
	}
	require.NoError(t, ear.Process.Signal(syscall.SIGINT))
	require.NoError(t, ear.Wait())
	require.NotContains(t, fmt.Sprint(ear.Stderr), "unasked")
	serving.stop()
}

// Also events created while the server does not run. A killed listen leaves no row.
func TestListenOnAServer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted on Windows")
	}
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, name)
			r := &newcomer{got: map[string][]delivered{}}
			server := httptest.NewServer(r)
			t.Cleanup(server.Close)
			on := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": url}}
			on.run(nil, "store", "create", "--name", "Shop", "--slug", "shop", "--currency", "XAF", "--country", "CM")
			address := devtest.FreeAddress(t)
			start := func() *process {
				return on.with("STOREFRONT_ADMIN_TOKEN", remoteToken).start("storefront", "listening", "server", "--addr", "127.0.0.1:0",
					"--admin-addr", address, "--drain-delay", "0s")
			}
			serving := start()
			far := installation{t, map[string]string{"STOREFRONT_ADMIN_URL": "http://" + address, "STOREFRONT_ADMIN_TOKEN": remoteToken}}
			all := far.listen("--forward-to", server.URL+"/all")
			some := far.listen("--forward-to", server.URL+"/some", "--events", "customer.created,ping", "--store", "shop", "--print-json")
			require.Equal(t, all.secret, some.secret, "one secret for a store and a token")

			far.run(nil, "trigger", "product.published", "--yes")
			far.run(nil, "trigger", "customer.created", "--yes")
			eventually := func(e *ear, path string, want ...string) {
				t.Helper()
				require.Eventually(t, func() bool { return len(r.at(path)) >= len(want) }, time.Minute, 10*time.Millisecond)
				require.ElementsMatch(t, want, e.types(t, r, path))
			}
			eventually(all, "/all", "product.published", "customer.created")
			eventually(some, "/some", "customer.created")
			on.run(nil, "trigger", "product.archived", "--yes") // a command that works on the database itself, not through the server
			eventually(all, "/all", "product.published", "customer.created", "product.archived")

			serving.stop()
			on.run(nil, "trigger", "customer.created", "--yes")
			on.run(nil, "trigger", "ping", "--yes")
			serving = start()
			far.run(nil, "trigger", "ping", "--yes")
			eventually(all, "/all", "product.published", "customer.created", "product.archived", "customer.created", "ping", "ping")
			eventually(some, "/some", "customer.created", "customer.created", "ping", "ping")

			handle, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
			require.NoError(t, err)
			defer handle.Close()
			before := counts(t, handle)
			require.Zero(t, before["webhooks"])
			killed := far.listen("--forward-to", server.URL+"/killed")
			require.NoError(t, killed.Process.Kill())
			_ = killed.Wait()
			require.Equal(t, before, counts(t, handle), "nothing is left")

			for _, e := range []*ear{all, some} {
				require.NoError(t, e.Process.Signal(syscall.SIGINT))
				require.NoError(t, e.Wait())
			}
			var forwarded []string
			for _, d := range r.at("/some") {
				forwarded = append(forwarded, string(d.body))
			}
			require.ElementsMatch(t, forwarded, strings.Split(strings.TrimSpace(some.printed.String()), "\n"), "each event on a line")
			// The forwarded bodies equal the payloads of the stored events.
			kept, err := admin.New(handle, admin.Options{}).ListEvents(t.Context(), &adminv1.ListEventsRequest{Store: "shop"})
			require.NoError(t, err)
			payloads := map[string]string{}
			for _, e := range kept.GetEvents() {
				payloads[e.GetId()] = e.GetPayload()
			}
			for _, d := range r.at("/all") {
				require.Equal(t, payloads[d.header.Get(signature.EventIDHeader)], string(d.body))
				require.True(t, json.Valid(d.body))
			}
			require.Len(t, r.at("/all"), len(payloads))
			serving.stop()
		})
	}
}
