package main

import (
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// An administrator made the extensions.
func TestADumpIsRestoredByAUserWhoOwnsNoExtension(t *testing.T) {
	t.Parallel()
	dbtest.OnePostgres(t, "pg_dump copies no cluster")
	source, restored := dbtest.URL(t, dbtest.Postgres), dbtest.EmptyURL(t, dbtest.Postgres)
	exec1 := func(address string, statements ...string) {
		t.Helper()
		d, err := sql.Open("postgres", address)
		require.NoError(t, err)
		defer d.Close()
		for _, statement := range statements {
			_, err := d.Exec(statement)
			require.NoError(t, err, statement)
		}
	}
	exec1(source, `INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES (gen_random_uuid(), 'S', 's', '', 'XAF', 'CM', '{}', '[]', now(), now())`,
		`INSERT INTO customers (id, store_id, email, search, created_at, updated_at)
 SELECT gen_random_uuid(), id, 'a@example.com', '', created_at, created_at FROM stores`)
	user, password := "restorer_"+strings.ReplaceAll(uuid.NewString(), "-", ""), uuid.NewString()
	u, err := url.Parse(restored)
	require.NoError(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	exec1(restored, "CREATE EXTENSION pg_trgm", "CREATE EXTENSION btree_gin", "CREATE ROLE "+user+" LOGIN PASSWORD '"+password+"'",
		"GRANT ALL ON DATABASE "+name+" TO "+user, "GRANT ALL ON SCHEMA public TO "+user)
	t.Cleanup(func() { exec1(restored, "DROP OWNED BY "+user, "DROP ROLE "+user) })
	u.User = url.UserPassword(user, password)

	dump := filepath.Join(t.TempDir(), "storefront.dump")
	out, err := exec.Command(postgresTool(t, "pg_dump"), "--format=custom", "--no-owner", "--file="+dump, source).CombinedOutput()
	require.NoError(t, err, string(out))
	restore := regexp.MustCompile(`(?m)^pg_restore (.*) --dbname="\$NEW_DATABASE_URL" storefront\.dump$`)
	for page, file := range map[string]string{"the manual": "manual/backup.md", "the runbook": "RUNBOOK.md"} {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		found := restore.FindStringSubmatch(string(content))
		require.NotNil(t, found, page)
		exec1(u.String(), "DROP OWNED BY "+user+" CASCADE")
		exec1(restored, "GRANT ALL ON DATABASE "+name+" TO "+user, "GRANT ALL ON SCHEMA public TO "+user)
		out, err := exec.Command(postgresTool(t, "pg_restore"), append(strings.Fields(found[1]), "--dbname="+u.String(), dump)...).CombinedOutput()
		require.NoError(t, err, "%s: %s", page, out)
	}
}
