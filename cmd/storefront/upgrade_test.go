package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
)

// history has the commits of the previous release.
const history = "../.."

// firstNew was added in the first commit after the previous release.
const firstNew = "ent/migrations/sqlite/00002_webhooks.sql"

// before builds the newest commit without firstNew, or skips the test in a shallow clone.
func before(t *testing.T) (binary string) {
	t.Helper()
	git := func(args ...string) ([]byte, error) {
		// The repository may belong to another user.
		return exec.CommandContext(t.Context(), "git", append([]string{"-C", history, "-c", "safe.directory=*"}, args...)...).Output()
	}
	added, err := git("log", "--diff-filter=A", "--format=%H", "--", firstNew)
	if err != nil || len(added) == 0 {
		t.Skip("there is no git history here")
	}
	commit, err := git("rev-parse", "--verify", "--quiet", strings.Fields(string(added))[0]+"^^{commit}")
	if err != nil {
		t.Skip("the git history here is too shallow to hold the release before")
	}
	tree, err := git("archive", "--format=tar", strings.TrimSpace(string(commit)))
	require.NoError(t, err)
	folder := t.TempDir()
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", folder)
	unpack.Stdin = bytes.NewReader(tree)
	out, err := unpack.CombinedOutput()
	require.NoError(t, err, "%s", out)
	binary = filepath.Join(folder, "before.exe")
	// With -trimpath Go reuses what it compiled in an earlier test's folder.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/storefront")
	build.Dir = folder
	out, err = build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

func send(t *testing.T, status int, method, url, key, body string) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	var decoded map[string]any
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&decoded))
	require.Equal(t, status, answer.StatusCode, "%s %s: %v", method, url, decoded)
	return decoded
}

// First the schema is migrated, and then one process after the other is replaced.
func TestReleaseBeforeWorksOnTheNewSchema(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it builds the previous release")
	newInbox(t) // skips the test before the slow build where newInbox cannot work
	binary := before(t)
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t)
			url := dbtest.EmptyURL(t, name)
			i := newInstallation(t, url, in).with("STOREFRONT_SECRET_KEY", seal.NewKey())
			i.runOf(binary, nil, "migrate", "up")
			i.runOf(binary, nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
			var key struct{ Key string }
			i.runOf(binary, &key, "key", "create", "--store", "s", "--name", "k", "--expires", "never",
				"--scopes", "products:write,orders:read,customers:write,payment_links:write")
			var product struct{ ID string }
			i.runOf(binary, &product, "product", "create", "--store", "s", "--title", "Guide", "--type", "FILE", "--price", "1500",
				"--description", "x", "--content-ready", "--status", "PUBLISHED")
			older := i.server(binary)
			api := func(p *process, path string) string { return "http://" + p.Addr + "/v1" + path }
			// The statements that the older server prepares here must work after the migration.
			for n := range 5 {
				send(t, http.StatusCreated, "POST", api(older, "/customers"), key.Key, fmt.Sprintf(`{"email":"early%d@example.com"}`, n))
				send(t, http.StatusOK, "GET", api(older, "/customers?q=early"), key.Key, "")
			}

			since := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
			i.run(nil, "migrate", "up")
			var webhook struct{ ID, Secret string }
			i.run(&webhook, "webhook", "create", "--store", "s", "--url", in.url)
			in.verifyWith(webhook.Secret)
			for n := range 5 {
				send(t, http.StatusCreated, "POST", api(older, "/customers"), key.Key, fmt.Sprintf(`{"email":"late%d@example.com"}`, n))
			}
			require.EqualValues(t, 10, send(t, http.StatusOK, "GET", api(older, "/customers"), key.Key, "")["total"])
			send(t, http.StatusOK, "PATCH", api(older, "/products/"+product.ID), key.Key, `{"priceAmount":1600}`)
			send(t, http.StatusOK, "PATCH", api(older, "/products/"+product.ID), key.Key, `{"status":"ARCHIVED"}`)
			require.EqualValues(t, 0, send(t, http.StatusOK, "GET", api(older, "/orders"), key.Key, "")["total"])
			var order struct{ ID string }
			i.runOf(binary, &order, "order", "create", "--store", "s", "--customer-email", "late1@example.com", "--product", product.ID)
			i.runOf(binary, nil, "order", "pay", order.ID)
			status, _ := get(t, "http://"+older.AdminAddr+"/readyz", "")
			require.Equal(t, http.StatusOK, status, "a schema that is ahead is ready")

			// The events of the older server remain, although the migration has rebuilt a table.
			handle, err := hook.Open(t.Context(), db.Config{URL: url, MaxConns: 2})
			require.NoError(t, err)
			defer handle.Close()
			count := func(query string) (n int) {
				require.NoError(t, handle.Reader().QueryRow(query).Scan(&n))
				return n
			}
			// ten events customer.created, and one each of product.published, product.archived and order.paid
			const events = 13
			require.Equal(t, events, count("SELECT count(*) FROM events"))
			require.Equal(t, 0, count("SELECT count(*) FROM deliveries"), "it has no webhooks")

			// Start the new processes before the older server ends, so that a server always runs.
			newer := i.server("storefront")
			worker := i.worker()
			require.EqualValues(t, 1600, send(t, http.StatusOK, "GET", api(newer, "/products/"+product.ID), key.Key, "")["priceAmount"])
			made := send(t, http.StatusCreated, "POST", api(newer, "/customers"), key.Key, `{"email":"new@example.com"}`)
			require.Equal(t, made["id"], send(t, http.StatusOK, "GET", api(older, "/customers/"+made["id"].(string)), key.Key, "")["id"])
			arrived := in.next()
			require.Equal(t, "customer.created", arrived.Type)
			require.Contains(t, string(arrived.Data), "new@example.com")
			older.stop()

			// The operator resends the previous release's events. None arrives twice.
			var resent struct{ Resent int }
			i.run(&resent, "delivery", "resend", "--webhook", webhook.ID, "--since", since)
			require.Equal(t, events, resent.Resent)
			types := map[string]int{}
			for _, kind := range in.collect(events) {
				types[kind]++
			}
			require.Equal(t, map[string]int{"customer.created": 10, "product.published": 1, "product.archived": 1, "order.paid": 1}, types)
			worker.stop()
			newer.stop()
			require.Empty(t, in.arrived)
			for _, p := range []*process{older, newer, worker} {
				require.NotContains(t, p.log(), `"level":"ERROR"`)
			}
		})
	}
}
