package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/seal"
)

func moveSteps(t *testing.T) (steps [][2]string) {
	t.Helper()
	_, block, found := strings.Cut(manualSection(t, "data.md", "Moving a store"), "\n```sh\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "\n```\n")
	for _, m := range regexp.MustCompile(`(?m)^storefront (.*?) +# (old|new)`).FindAllStringSubmatch(block, -1) {
		steps = append(steps, [2]string{m[2], m[1]})
	}
	require.Len(t, steps, 5)
	return steps
}

// 10,000 orders move to the other database. The API answers every GET as before, keys work, and deliveries have the known
// secret.
func TestMovingAStore(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it moves a store with 10,000 orders between databases")
	const slug, orders = "douala", 10_000
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.Postgres}, {dbtest.Postgres, dbtest.SQLite}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			in, folder := newInbox(t), t.TempDir()
			place := func(database string) installation {
				return newInstallation(t, dbtest.URL(t, database), in).with("STOREFRONT_SECRET_KEY", seal.NewKey())
			}
			old, next := place(way[0]), place(way[1])
			old.run(nil, "store", "create", "--name", "S", "--slug", slug, "--currency", "XAF", "--country", "CM")
			old.run(nil, "product", "create", "--store", slug, "--title", "Guide", "--type", "FILE", "--price", "500")
			old.run(nil, "link", "create", "--store", slug, "--title", "L", "--pricing", "FIXED", "--amount", "500")
			var key struct{ Key string }
			old.run(&key, "key", "create", "--store", slug, "--name", "crm", "--expires", "90d", "--scopes", "customers:write,orders:read")
			var webhook struct{ Secret string }
			old.run(&webhook, "webhook", "create", "--store", slug, "--url", in.url, "--events", "customer.created")
			var lines bytes.Buffer
			lines.WriteString("reference,status,total,email,createdAt,itemTitle,itemQuantity,itemPrice\n")
			for n := range orders {
				_, _ = fmt.Fprintf(&lines, "R-%d,PAID,500,buyer%d@example.com,2026-0%d-01,Guide,2,250\n", n, n%700, n%9+1)
			}
			file := filepath.Join(folder, "orders.csv")
			require.NoError(t, os.WriteFile(file, lines.Bytes(), 0o600))
			old.run(nil, "import", "--store", slug, "--events", "orders", file)
			want := newReader(t, old.env["STOREFRONT_DATABASE_URL"], slug).all()
			wasExported := filepath.Join(folder, "was")
			old.run(nil, "export", "--store", slug, wasExported)

			archive, began := filepath.Join(folder, "move"+archiveSuffix), time.Now()
			for _, step := range moveSteps(t) {
				at := map[string]installation{"old": old, "new": next}[step[0]]
				args := strings.Fields(strings.ReplaceAll(step[1], "douala-move"+archiveSuffix, archive))
				out, err := at.command("storefront", args...).CombinedOutput()
				require.NoError(t, err, "%s: %s", step[1], out)
				if strings.HasPrefix(step[1], "export") {
					require.Contains(t, string(out), "warning: "+archive+" has the signing secrets")
					info, err := os.Stat(archive)
					require.NoError(t, err)
					require.Equal(t, os.FileMode(0o600), info.Mode())
				}
			}
			t.Logf("the five commands took %s for %d orders", time.Since(began).Round(time.Millisecond), orders)

			require.Equal(t, want, newReader(t, next.env["STOREFRONT_DATABASE_URL"], slug).all())
			isExported := filepath.Join(folder, "is")
			next.run(nil, "export", "--store", slug, isExported)
			for _, kind := range []string{"events", "webhooks", "products", "customers", "links", "orders"} {
				was, err := os.ReadFile(filepath.Join(wasExported, kind+linesSuffix))
				require.NoError(t, err)
				is, err := os.ReadFile(filepath.Join(isExported, kind+linesSuffix))
				require.NoError(t, err)
				require.Equal(t, string(was), string(is), kind)
				require.NotContains(t, string(is), webhook.Secret)
			}
			journal, err := os.ReadFile(filepath.Join(wasExported, "activity.ndjson"))
			require.NoError(t, err)
			is, err := os.ReadFile(filepath.Join(isExported, "activity.ndjson"))
			require.NoError(t, err)
			for line := range strings.Lines(string(journal)) {
				require.Contains(t, string(is), line)
			}

			server := next.server("storefront")
			next.worker()
			in.verifyWith(webhook.Secret)
			listed := send(t, http.StatusOK, "GET", "http://"+server.Addr+"/v1/orders", key.Key, "")
			require.EqualValues(t, orders, listed["total"])
			send(t, http.StatusCreated, "POST", "http://"+server.Addr+"/v1/customers", key.Key, `{"email":"new@example.com"}`)
			require.Contains(t, string(in.next().Data), "new@example.com")
			server = old.server("storefront")
			send(t, http.StatusForbidden, "GET", "http://"+server.Addr+"/v1/orders", key.Key, "")
		})
	}
}

// It would print the secrets, or no import could use them.
func TestAnExportWithSecretsIsRefused(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	dinars(t, url)
	export := func(status int, args ...string) string {
		out, said := command(t, status, append([]string{"export", "--store", "souk", "--database-url", url, "--with-secrets"}, args...)...)
		return out + said
	}
	require.Contains(t, export(2, "-"), "is not written to standard output")
	require.Contains(t, export(2, "-o", "csv", filepath.Join(t.TempDir(), "x")), "-o csv is for people")
	for _, path := range []string{"/dev/stdout", "/dev/fd/1", "/dev/tty"} {
		if exists(path) {
			require.Contains(t, export(1, path), "is there already")
		}
	}
	folder := filepath.Join(t.TempDir(), "x")
	require.Contains(t, export(0, folder), "warning: "+folder)
	m, err := readExport(t, folder)
	require.NoError(t, err)
	require.True(t, m.WithSecrets)
	require.Equal(t, secretNotes, m.Notes)
}
