package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/seal"
)

// postgresTool returns the path of a program. Debian has them in a folder of their version.
func postgresTool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	if len(found) == 0 {
		need.Missing(t, "there is no %s here", name)
	}
	return found[len(found)-1]
}

// copied backs up a running installation by the manual's commands, and returns one on the restored database.
type copied func(t *testing.T, i installation) (restored installation)

func restoreSQLite(t *testing.T, i installation) installation {
	source := strings.TrimPrefix(i.env["STOREFRONT_DATABASE_URL"], "sqlite:")
	backup := filepath.Join(t.TempDir(), "backup.db")
	var done struct {
		SecretKeyFile string
	}
	i.run(&done, "backup", "--to", backup)
	require.Equal(t, source+".key", done.SecretKeyFile)
	target := filepath.Join(t.TempDir(), "storefront.db")
	for from, to := range map[string]string{backup: target, done.SecretKeyFile: target + ".key"} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	return i.with("STOREFRONT_DATABASE_URL", "sqlite:"+target)
}

func manualBackup(t *testing.T, program string) string {
	t.Helper()
	_, block, found := strings.Cut(manualPage(t, "backup.md"), "\n```sh\n"+program)
	require.True(t, found, program)
	block, _, _ = strings.Cut(block, "\n```\n")
	return program + block
}

// restorePostgres runs the manual's commands for pg_dump and for a copy of the whole server, with other ports, and returns the
// installation from pg_dump's file.
func restorePostgres(t *testing.T, i installation) installation {
	bin := filepath.Dir(postgresTool(t, "pg_basebackup"))
	target := dbtest.EmptyURL(t, dbtest.Postgres)
	folder := t.TempDir()
	in := i.with("NEW_DATABASE_URL", target).with("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, program := range []string{"pg_dump", "pg_basebackup"} {
		lines := manualBackup(t, program)
		// The default ports may be in use by other tests.
		lines = strings.ReplaceAll(lines, "storefront doctor", "storefront doctor --check-url none --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0")
		c := in.command("sh", "-ec", lines)
		c.Dir = folder
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s: %s", lines, out)
	}
	return i.with("STOREFRONT_DATABASE_URL", target)
}

func TestRestoredInstallationGoesOn(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it restores an installation from its backup")
	for name, restore := range map[string]copied{dbtest.SQLite: restoreSQLite, dbtest.Postgres: restorePostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newInbox(t)
			i := newInstallation(t, dbtest.URL(t, name), in)
			if name == dbtest.Postgres {
				i = i.with("STOREFRONT_SECRET_KEY", seal.NewKey())
			}
			since := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
			i.run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
			var key struct{ Key string }
			i.run(&key, "key", "create", "--store", "s", "--name", "k", "--expires", "never", "--scopes", "customers:write")
			var webhook struct{ ID, Secret string }
			i.run(&webhook, "webhook", "create", "--store", "s", "--url", in.url)
			in.verifyWith(webhook.Secret)

			// The server has one event that was delivered, and one that waits for a worker.
			server := i.server("storefront")
			create := func(p *process, name string) {
				send(t, http.StatusCreated, "POST", "http://"+p.Addr+"/v1/customers", key.Key, fmt.Sprintf(`{"email":"%s@example.com"}`,
					name))
			}
			worker := i.worker()
			create(server, "delivered")
			delivered := in.next()
			worker.stop()
			create(server, "waiting")
			restored := restore(t, i)
			create(server, "afterwards")
			server.stop()

			var steps []struct{ AppliedAt *string }
			restored.run(&steps, "migrate", "status")
			require.NotEmpty(t, steps)
			for _, step := range steps {
				require.NotNil(t, step.AppliedAt)
			}
			for check, f := range restored.examine("--check-url", "none", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0") {
				require.Equal(t, doctor.OK, f.Status, "%s: %+v", check, f)
			}
			server = restored.server("storefront")
			listed := send(t, http.StatusOK, "GET", "http://"+server.Addr+"/v1/customers", key.Key, "")
			require.EqualValues(t, 2, listed["total"], "as it was at that moment")

			// On the restored database, a worker delivers the waiting event and new ones.
			worker = restored.worker()
			require.Contains(t, string(in.next().Data), "waiting@")
			create(server, "again")
			require.Contains(t, string(in.next().Data), "again@")
			var deliveries []struct{ ID, EventID, Status string }
			restored.run(&deliveries, "delivery", "list", "--store", "s")
			require.Len(t, deliveries, 3)
			require.Equal(t, delivered.ID, deliveries[2].EventID)
			require.Equal(t, "succeeded", deliveries[2].Status)
			restored.run(nil, "delivery", "resend", deliveries[2].ID)
			require.Equal(t, delivered.ID, in.next().ID)
			worker.stop() // a worker stores all results before it stops
			var resent struct{ Resent int }
			restored.run(&resent, "delivery", "resend", "--webhook", webhook.ID, "--since", since)
			require.Zero(t, resent.Resent, "all have succeeded")
			server.stop()
		})
	}
}

// The manual's second user, who serves but owns no table, can back up.
func TestTheServersUserBacksUp(t *testing.T) {
	t.Parallel()
	dump := postgresTool(t, "pg_dump")
	address := dbtest.EmptyURL(t, dbtest.Postgres)
	admin, err := sql.Open("postgres", address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	manual, err := os.ReadFile(filepath.Join("manual", "configure.md"))
	require.NoError(t, err)
	_, grants, found := strings.Cut(string(manual), "\n```sql\nALTER DEFAULT PRIVILEGES")
	require.True(t, found)
	grants, _, _ = strings.Cut("ALTER DEFAULT PRIVILEGES"+grants, "\n```\n")
	u, err := url.Parse(address)
	require.NoError(t, err)
	owner, server := "owner_of"+u.Path[1:], "server_of"+u.Path[1:]
	grants = strings.NewReplacer("storefront_owner", owner, "storefront_server", server).Replace(grants)
	_, err = admin.Exec("CREATE ROLE " + owner + " LOGIN; CREATE ROLE " + server + " LOGIN; GRANT CREATE ON SCHEMA public TO " + owner + "; " +
		"CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin; " + grants)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec("DROP OWNED BY " + server + "; DROP OWNED BY " + owner + " CASCADE; DROP ROLE " + owner + ", " + server)
		require.NoError(t, err)
	})
	as := func(user string) installation {
		own := *u
		own.User = url.User(user)
		return installation{t, map[string]string{"STOREFRONT_DATABASE_URL": own.String()}}
	}
	as(owner).run(nil, "migrate", "up")
	as(server).run(nil, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country", "CM")
	file := filepath.Join(t.TempDir(), "storefront.dump")
	out, err := as(server).command(dump, "--format=custom", "--no-owner", "--file="+file, as(server).env["STOREFRONT_DATABASE_URL"]).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
