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

// execAll runs statements on the database at an address.
func execAll(t *testing.T, address string, statements ...string) {
	t.Helper()
	d, err := sql.Open("postgres", address)
	require.NoError(t, err)
	defer d.Close()
	for _, statement := range statements {
		_, err := d.Exec(statement)
		require.NoError(t, err, statement)
	}
}

// dumpOfACustomer returns a dump of a database with a store and a customer.
func dumpOfACustomer(t *testing.T) (file string) {
	t.Helper()
	dbtest.OnePostgres(t, "pg_dump copies no cluster")
	source := dbtest.URL(t, dbtest.Postgres)
	execAll(t, source, `INSERT INTO stores (id, name, slug, url, currency, country, social_links, unavailable_types, created_at, updated_at)
 VALUES (gen_random_uuid(), 'S', 's', '', 'XAF', 'CM', '{}', '[]', now(), now())`,
		`INSERT INTO customers (id, store_id, email, search, created_at, updated_at)
 SELECT gen_random_uuid(), id, 'a@example.com', '', created_at, created_at FROM stores`)
	file = filepath.Join(t.TempDir(), "storefront.dump")
	out, err := exec.Command(postgresTool(t, "pg_dump"), "--format=custom", "--no-owner", "--file="+file, source).CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// The manual says that a migrated database refuses the rows of a dump without its schema.
func TestADumpsRowsAloneAreRefused(t *testing.T) {
	t.Parallel()
	dump, target := dumpOfACustomer(t), dbtest.URL(t, dbtest.Postgres)
	require.Contains(t, manualPage(t, "backup.md"), "`pg_restore --data-only` into a database of `migrate up` is not supported and fails")
	out, err := exec.Command(postgresTool(t, "pg_restore"), "--data-only", "--exit-on-error", "--single-transaction", "--dbname="+target,
		dump).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "customers_stores_customers", "a customer comes before its store")
	out, err = exec.Command(postgresTool(t, "pg_restore"), "--data-only", "--exit-on-error", "--single-transaction",
		"--table=goose_db_version", "--dbname="+target, dump).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "goose_db_version_pkey", "both have the migrations")
}

// An administrator made the extensions.
func TestADumpIsRestoredByAUserWhoOwnsNoExtension(t *testing.T) {
	t.Parallel()
	dump, restored := dumpOfACustomer(t), dbtest.EmptyURL(t, dbtest.Postgres)
	user, password := "restorer_"+strings.ReplaceAll(uuid.NewString(), "-", ""), uuid.NewString()
	u, err := url.Parse(restored)
	require.NoError(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	execAll(t, restored, "CREATE EXTENSION pg_trgm", "CREATE EXTENSION btree_gin", "CREATE ROLE "+user+" LOGIN PASSWORD '"+password+"'",
		"GRANT ALL ON DATABASE "+name+" TO "+user, "GRANT ALL ON SCHEMA public TO "+user)
	t.Cleanup(func() { execAll(t, restored, "DROP OWNED BY "+user, "DROP ROLE "+user) })
	u.User = url.UserPassword(user, password)

	restore := regexp.MustCompile(`(?m)^pg_restore (.*) --dbname="\$NEW_DATABASE_URL" storefront\.dump$`)
	for page, file := range map[string]string{"the manual": "manual/backup.md", "the runbook": "RUNBOOK.md"} {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		found := restore.FindStringSubmatch(string(content))
		require.NotNil(t, found, page)
		execAll(t, u.String(), "DROP OWNED BY "+user+" CASCADE")
		execAll(t, restored, "GRANT ALL ON DATABASE "+name+" TO "+user, "GRANT ALL ON SCHEMA public TO "+user)
		out, err := exec.Command(postgresTool(t, "pg_restore"), append(strings.Fields(found[1]), "--dbname="+u.String(), dump)...).CombinedOutput()
		require.NoError(t, err, "%s: %s", page, out)
	}
}
