package dbtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"sync"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/migrations"
	"go.storefront.example/ent/shard"
)

const (
	serverVariable = "STOREFRONT_TEST_POSTGRES"

	// templateLock lets one process at a time create the template.
	templateLock = 0x5f0e57a6
)

// createDatabase creates a database until the test ends, on Citus on all nodes: a copy of the template, or empty.
func createDatabase(t testing.TB, migrated bool) string {
	t.Helper()
	servers := nodes()
	if len(servers) == 0 {
		need.Missing(t, "%s names no PostgreSQL server", serverVariable)
	}
	template := "template1"
	if migrated {
		var err error
		template, err = postgresTemplate()
		require.NoError(t, err)
	}
	id := uuid.New()
	name := "dbtest_" + hex.EncodeToString(id[:])
	t.Cleanup(func() { require.NoError(t, drop(context.Background(), name)) })
	statements := []string{"CREATE DATABASE " + name + " TEMPLATE " + template}
	if len(Citus()) > 0 {
		// The triggers that count rows need this setting.
		statements = append(statements, "ALTER DATABASE "+name+" SET citus.enable_unsafe_triggers = on")
		if migrated {
			// A session's own setting does not reach the data nodes.
			statements = append(statements, "ALTER DATABASE "+name+" SET lock_timeout = '5s'")
		}
	}
	require.NoError(t, execOnNodes(context.Background(), statements...))
	address, err := withDatabase(servers[0], name)
	require.NoError(t, err)
	return address
}

// postgresTemplate names a migrated database by its migrations. It stays on the server, so that a test run migrates once.
var postgresTemplate = sync.OnceValues(func() (string, error) {
	name, err := templateName()
	if err != nil {
		return "", err
	}
	all, err := pools()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	conn, err := all[0].Conn(ctx)
	if err != nil {
		return "", err
	}
	_, err = conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", templateLock)
	if err != nil {
		return "", errors.Join(err, conn.Close())
	}
	err = makeTemplate(ctx, conn, name)
	_, unlock := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", templateLock)
	return name, errors.Join(err, unlock, conn.Close())
})

func makeTemplate(ctx context.Context, conn *sql.Conn, name string) error {
	var found int
	err := conn.QueryRowContext(ctx, "SELECT count(*) FROM pg_database WHERE datname = $1", name).Scan(&found)
	if err != nil || found == 1 {
		return err
	}
	// The template has another name until it is complete, for a process that dies half-way.
	unfinished := name + "_unfinished"
	if err := execOnNodes(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)",
		"DROP DATABASE IF EXISTS "+unfinished+" WITH (FORCE)", "CREATE DATABASE "+unfinished); err != nil {
		return err
	}
	address, err := withDatabase(nodes()[0], unfinished)
	if err != nil {
		return err
	}
	if err := migrate(address); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	if len(Citus()) > 0 {
		if err := distribute(ctx, unfinished, address); err != nil {
			return fmt.Errorf("distribute the template: %w", err)
		}
	}
	// A database in use cannot be copied, and Citus keeps connections to every database.
	if err := execOnNodes(ctx, "ALTER DATABASE "+unfinished+" ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '"+unfinished+"'"); err != nil {
		return err
	}
	all, err := pools()
	if err != nil {
		return err
	}
	// Other processes look for the template on the coordinator, so rename that one last.
	for _, pool := range slices.Backward(all) {
		if _, err := pool.ExecContext(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name); err != nil {
			return err
		}
	}
	return nil
}

func templateName() (string, error) {
	files, err := migrations.FS(dialect.Postgres)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(content), content)
		return err
	})
	for _, table := range append(shard.Tables(), shard.InTwoPhases()...) {
		fmt.Fprintf(sum, "%s\n", table)
	}
	return "dbtest_template_" + hex.EncodeToString(sum.Sum(nil)[:6]), err
}

func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("%s is not a URL", serverVariable)
	}
	u.Path = "/" + name
	// A busy machine may need more than the service's 3 s for one connection.
	q := u.Query()
	q.Set("connect_timeout", "60")
	u.RawQuery = q.Encode()
	return u.String(), nil
}
